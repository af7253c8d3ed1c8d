/// Keeps objects alive until the process ends.
package enum ProcessLifetime {
    private final class Box<Value> {
        let value: Value
        init(_ value: Value) { self.value = value }
    }

    /// Retains the value and never releases it.
    package static func keep<Value>(_ value: Value) { _ = unsafe Unmanaged.passRetained(Box(value)) }
}
