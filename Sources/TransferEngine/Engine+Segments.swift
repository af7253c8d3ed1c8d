import TransferModel

extension Engine {
    func lent(_ task: TaskIndex) {}
    func recalled(_ task: TaskIndex) {}
}
