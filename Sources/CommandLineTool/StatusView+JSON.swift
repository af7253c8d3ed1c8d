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
        writer.key("sessions")
        writer.beginArray()
        for session in sessions { session.write(to: &writer) }
        writer.endArray()
        writer.key("runs")
        writer.beginArray()
        for run in runs { run.write(to: &writer) }
        writer.endArray()
        writer.key("networks")
        writer.beginArray()
        for network in networks { write(network, to: &writer) }
        writer.endArray()
        writer.key("power")
        writer.beginObject()
        writer.member("source", conditions.power.source.rawValue)
        writer.member("battery", conditions.power.battery)
        writer.endObject()
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self) + "\n"
    }

    private func write(_ network: NetworkInterface, to writer: inout JSONWriter) {
        writer.beginObject()
        // The network of `--network` has no interface.
        writer.member("interface", conditions.isDictated ? nil : network.name)
        writer.member("class", network.networkClass.rawValue)
        writer.member("metered", network.isMetered)
        writer.member("constrained", network.isConstrained)
        writer.member("why", network.why)
        writer.member("usable", network.isUsable)
        writer.endObject()
    }
}

extension BackgroundSession {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("identifier", identifier)
        writer.member("job", job)
        writer.member("state", state.rawValue)
        writer.member("report", report)
        writer.member("trouble", trouble)
        writer.key("tasks")
        writer.beginArray()
        for task in tasks { task.write(to: &writer) }
        writer.endArray()
        writer.endObject()
    }
}

extension SessionTask {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
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
        writer.endObject()
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
