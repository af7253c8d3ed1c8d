import TransferModel

// Numbers of connections that are found by what a host bears (`maximumConnectionsPerHost: auto`).

extension Scheduler {
    /// Whether the number of connections where the task's attempt is, or was, is found.
    private func isFound(_ task: TaskIndex) -> Bool {
        tasks[task].lane >= 0 && slots.lanes[Int(tasks[task].lane)].controller != nil
    }

    /// Body bytes of the task moved.
    mutating func measureBytes(_ task: TaskIndex, _ bytes: Int64) {
        guard isFound(task) else { return }
        let time = now.instant
        control(task) {
            $0.moved(bytes)
            return $0.judge(at: time)
        }
    }

    /// The host answered the task's request with anything but 429 or 503.
    mutating func measureAnswer(_ task: TaskIndex) {
        guard isFound(task) else { return }
        let time = now.instant
        // Of later requests of an attempt it is not known when they were sent.
        let latency = tasks[task].waitInAttempt == .zero ? time - tasks[task].attemptBeganAt : nil
        control(task) {
            $0.answered(after: latency)
            return $0.judge(at: time)
        }
    }

    /// The host refused the task's request, or one beside it.
    mutating func measureRefusal(_ task: TaskIndex, _ reason: ConnectionStep.Reason) {
        guard isFound(task) else { return }
        let (time, begun) = (now.instant, tasks[task].attemptBeganAt)
        control(task) { $0.refused(reason, begunAt: begun, at: time) }
    }

    private mutating func control(
        _ task: TaskIndex, _ tell: (inout ConnectionController) -> ConnectionController.Step?
    ) {
        let lane = Int(tasks[task].lane)
        guard let step = slots.control(lane, tell), let origin = slots.lanes[lane].origin else { return }
        actions.append(.connectionsChanged(slots.lanes[lane].session, origin, step))
    }
}
