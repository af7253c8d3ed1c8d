package import CurlCore
package import FileDelivery
package import SystemIO
import TransferModel

/// The engine's connection to the outside: a loop of requests and a deliverer of files.
package struct EngineTransport {
    /// Performs the requests.
    package let loop: any TransferLoop
    /// Makes the deliverer that reports to the mailbox.
    package let makeDelivery: (_ reports: Mailbox<DeliveryReport>) throws(SystemError) -> any FileDeliverer

    package init(
        loop: any TransferLoop,
        makeDelivery: @escaping (Mailbox<DeliveryReport>) throws(SystemError) -> any FileDeliverer
    ) {
        self.loop = loop
        self.makeDelivery = makeDelivery
    }

    /// libcurl, and threads that write. `state` is the folder of the store, if there is one.
    static func network(
        _ job: Job, _ groups: [EngineGroup], _ added: AddedNames, run: String, state: String?
    ) -> EngineTransport {
        let loop = CurlLoop(
            maximumConnections: max(job.limits.maximumConcurrentTasks * 2, min(64, DescriptorLimit.present / 4)),
            connectionsPerHost: job.sessions.map(\.maximumConnectionsPerHost).max() ?? 6,
            streamsPerConnection: job.sessions.map(\.http.maximumStreamsPerConnection).max() ?? 100)
        return EngineTransport(loop: loop) { reports throws(SystemError) in
            try Delivery(
                run: RunLabel.text(run, state: state), reports: reports, threads: deliveryThreads(for: job),
                reserved: EngineGroup.reserved(job, groups),
                taskName: { task in
                    let number = Int(task.raw)
                    return number < job.tasks.count ? job.tasks[number].id : added.name(number - job.tasks.count)
                })
        }
    }

    /// Two files can be written at once where a job has many: a file's pages are filled by whoever writes it. A few files
    /// are not worth a thread, and where there is none it has little to do.
    private static func deliveryThreads(for job: Job) -> Int {
        let files = job.tasks.indices.lazy.filter { job.tasks[$0].type == .download }.prefix(manyFiles).count
        return files < manyFiles ? 1 : 2
    }

    private static let manyFiles = 32
}
