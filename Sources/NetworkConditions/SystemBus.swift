import CSystemBus
import Glibc
import SystemIO
import TransferModel

/// A connection to the system's D-Bus, for reading properties and receiving their changes. Belongs to one thread at a
/// time. No call waits longer than a second for an answer.
@safe final class SystemBus {
    static let patience = TimeSpan.seconds(1)

    private let raw: OpaquePointer
    /// Whether the connection has failed and must be dropped.
    private(set) var isLost = false

    /// `nil` without libsystemd, without a bus, and with one that does not answer.
    init?() {
        guard let raw = unsafe tr_bus_open(UInt64(Self.patience.nanoseconds / 1000)) else { return nil }
        unsafe self.raw = raw
    }

    deinit { unsafe tr_bus_close(raw) }

    var entry: PollEntry {
        unsafe PollEntry(tr_bus_descriptor(raw), tr_bus_wants_writing(raw) != 0 ? .writing : .reading)
    }

    /// When to call `process` although nothing came.
    var due: Instant {
        let due = unsafe tr_bus_due(raw)
        return due > UInt64(Int64.max / 1000) ? .distantFuture : Instant(nanoseconds: Int64(due) * 1000)
    }

    func match(_ rule: String) { note(unsafe tr_bus_match(raw, rule)) }

    /// Handles waiting messages; returns whether one of the matched signals has come.
    func process() -> Bool {
        let result = unsafe tr_bus_process(raw)
        if result < 0 { isLost = true }
        return result > 0
    }

    /// Returns whether a service runs; asking does not start it.
    func hasOwner(_ name: String) -> Bool { note(unsafe tr_bus_has_owner(raw, name)) > 0 }

    /// The address of a property: service, object path and interface.
    struct Place {
        var name: String
        var path: String
        var interface: String

        func at(_ path: String) -> Place { Place(name: name, path: path, interface: interface) }
        func on(_ interface: String) -> Place { Place(name: name, path: path, interface: interface) }
    }

    func number(_ property: String, _ place: Place) -> UInt32? {
        var value: UInt32 = 0
        let result = unsafe tr_bus_get_u32(raw, place.name, place.path, place.interface, property, &value)
        return note(result) < 0 ? nil : value
    }

    func bool(_ property: String, _ place: Place) -> Bool? {
        var value: Int32 = 0
        let result = unsafe tr_bus_get_bool(raw, place.name, place.path, place.interface, property, &value)
        return note(result) < 0 ? nil : value != 0
    }

    func double(_ property: String, _ place: Place) -> Double? {
        var value = 0.0
        let result = unsafe tr_bus_get_double(raw, place.name, place.path, place.interface, property, &value)
        return note(result) < 0 || !value.isFinite ? nil : value
    }

    func string(_ property: String, _ place: Place) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        let result = unsafe tr_bus_get_string(raw, place.name, place.path, place.interface, property, &value)
        defer { unsafe free(value) }
        guard note(result) >= 0, let value = unsafe value else { return nil }
        return unsafe String(cString: value)
    }

    /// Returns the object paths that a method returns; none when it fails.
    func paths(_ method: String, _ place: Place) -> [String] {
        var found: [String] = []
        let result = unsafe withUnsafeMutablePointer(to: &found) { found in
            unsafe tr_bus_call_for_paths(
                raw, place.name, place.path, place.interface, method,
                { context, path in
                    guard let context = unsafe context, let path = unsafe path else { return }
                    unsafe context.assumingMemoryBound(to: [String].self).pointee.append(String(cString: path))
                }, found)
        }
        return note(result) < 0 ? [] : found
    }

    /// Notes whether the connection was lost. A service that is gone, has no such property or takes too long is an
    /// answer; a failed connection is not.
    @discardableResult
    private func note(_ result: Int32) -> Int32 {
        if [-ECONNRESET, -ENOTCONN, -EPIPE, -ESTALE].contains(result) { isLost = true }
        return result
    }
}
