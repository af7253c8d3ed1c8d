import BackgroundService
import JobRunner
import Reporting
import RunControl
import TextFormats
import TransferModel

extension StatusView {
    /// The view as one line of JSON. `runs` are those of foreground commands.
    var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.objects("sessions", sessions) { $1.write(to: &$0) }
        writer.array("runs", runs) { $1.write(to: &$0) }
        writer.objects("networks", networks) { write($1, to: &$0) }
        writer.object("power") { writer in
            writer.member("source", conditions.power.source.rawValue)
            writer.member("battery", conditions.power.battery)
        }
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self) + "\n"
    }

    private func write(_ network: NetworkInterface, to writer: inout JSONWriter) {
        // The network of `--network` has no interface.
        writer.member("interface", conditions.isDictated ? nil : network.name)
        writer.member("class", network.networkClass.rawValue)
        writer.member("metered", network.isMetered)
        writer.member("constrained", network.isConstrained)
        writer.member("why", network.why)
        writer.member("usable", network.isUsable)
    }
}

extension BackgroundSession {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.member("identifier", identifier)
        writer.member("job", job)
        writer.member("state", state.rawValue)
        writer.member("report", report)
        writer.member("trouble", trouble)
        writer.objects("tasks", tasks) { $1.write(to: &$0) }
    }
}

extension SessionTask {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("type", type?.rawValue)
        writer.member("state", state.rawValue)
        writer.member("outcome", outcome?.rawValue)
        writer.member("waitingFor", waitingFor?.rawValue)
        writer.member("bytesReceived", bytesReceived)
        writer.member("bytesSent", bytesSent)
        writer.member("expected", expected)
        writer.member("attempts", attempts)
        writer.member("error", error: error)
        writer.member("nextAttemptAt", nextAttemptAt)
        writer.member("startedOver", startedOver)
    }
}

extension StatusView.Run {
    fileprivate func write(to writer: inout JSONWriter) {
        if let status { return status.write(to: &writer, process: process) }
        writer.beginObject()
        writer.member("pid", Int64(process))
        for name: StaticString in ["job", "startedAt", "counts", "tasks"] {
            writer.key(name)
            writer.null()
        }
        writer.endObject()
    }
}
