package import JobLoader
package import TransferModel

/// The effective value of each flag: the command line takes precedence over the environment.
package struct MeantArguments: Sendable {
    private let typed: TypedArguments
    private let environment: [String: String]

    package init(_ typed: TypedArguments, environment: [String: String]) throws(UsageError) {
        self.typed = typed
        self.environment = environment
        try checkEnvironment()
    }

    /// Rejects variables for flags that are not built yet, as the flags are; variables for other commands do not
    /// matter.
    private func checkEnvironment() throws(UsageError) {
        for flag in FlagTable.flags(of: typed.command) {
            guard !typed.has(flag.name), let variable = flag.variable, let value = environment[variable],
                !value.isEmpty
            else { continue }
            do {
                if flag.shape == .toggle, try !Self.flag(value) { continue }
                try flag.check([value], of: typed.command)
            } catch {
                throw UsageError(error.message + Self.origin(variable), hint: error.hint)
            }
        }
    }

    private static func flag(_ value: String) throws(UsageError) -> Bool {
        switch value {
        case "1", "true": return true
        case "0", "false": return false
        default: throw UsageError("a switch is `1` or `0`, not `\(value)`")
        }
    }

    /// Reads `--allow-address`. Typed where nothing confines the job it would do nothing, and the job would be taken for
    /// confined; set in the environment it is there for the runs that are.
    package func allowedAddresses() throws(UsageError) -> [AddressRange] {
        if typed.has(.allowAddress), value(.confine) == nil {
            throw UsageError(
                "`--allow-address` says what `--confine` lets through, and the run is not confined",
                hint: "add `--confine DIR`; what a trusted job does not connect to is its `addresses.deny`")
        }
        var ranges: [AddressRange] = []
        for text in list(.allowAddress) {
            do throws(AddressRange.Problem) { ranges.append(try AddressRange.parse(text)) } catch {
                throw UsageError(
                    "`--allow-address \(text)` \(error.message)\(origin(of: .allowAddress))", hint: error.hint)
            }
        }
        return ranges
    }

    /// Reads the file of `--policy`; `nil` where none is named.
    package func policy() throws(UsageError) -> LoadedPolicy? {
        guard let path = value(.policy) else { return nil }
        return try PolicyFile.read(path, origin: origin(of: .policy))
    }

    private func variable(_ name: FlagName) -> String? {
        guard let variable = FlagTable[name].variable, let value = environment[variable], !value.isEmpty else {
            return nil
        }
        return value
    }

    /// A note for messages that a value comes from the environment; empty for a typed one.
    private func origin(of name: FlagName) -> String {
        guard !typed.has(name), let variable = FlagTable[name].variable else { return "" }
        return Self.origin(variable)
    }

    private static func origin(_ variable: String) -> String { " (from the environment variable \(variable))" }

    /// Returns a flag's value, or `nil`.
    package func value(_ name: FlagName) -> String? { typed.values[name]?.last ?? variable(name) }

    /// Returns the values of a flag that may be repeated; a variable has one value a line.
    package func list(_ name: FlagName) -> [String] {
        if let values = typed.values[name] { return values }
        return variable(name)?.split(separator: "\n").map { String($0) } ?? []
    }

    /// Whether the flag is on the command line.
    package func isTyped(_ name: FlagName) -> Bool { typed.has(name) }

    /// Whether a switch is on.
    package func isSet(_ name: FlagName) -> Bool {
        if typed.has(name) { return true }
        return variable(name).map { $0 == "1" || $0 == "true" } ?? false
    }

    /// Returns which of contradicting flags counts: the last typed, else the first in the environment.
    package func one(of names: [FlagName]) -> FlagName? {
        let typed = names.filter { self.typed.has($0) }
        if !typed.isEmpty { return typed.max { self.typed.places[$0] ?? 0 < self.typed.places[$1] ?? 0 } }
        return names.first { FlagTable[$0].shape == .toggle ? isSet($0) : variable($0) != nil }
    }

    /// Returns a flag's value in bytes a second, or `nil`; throws when it is no rate.
    package func rate(_ name: FlagName) throws(UsageError) -> Int64? {
        guard let text = value(name) else { return nil }
        guard let rate = ValueText.rate(text), rate > 0 else {
            let long = FlagTable[name].long
            throw UsageError(
                "`\(long)` must be a rate such as `10MiB/s`, not `\(text)`\(origin(of: name))",
                hint: ValueText.rateHint(text))
        }
        return rate
    }

    /// Returns a flag's value as a number within the bounds of the job's own key, or `nil`.
    package func count(_ name: FlagName, _ range: ClosedRange<Int64>) throws(UsageError) -> Int? {
        guard let text = value(name) else { return nil }
        guard let number = Int(text), range.contains(Int64(number)) else {
            let words = "a whole number from \(range.lowerBound) to \(range.upperBound)"
            throw UsageError("`\(FlagTable[name].long)` must be \(words), not `\(text)`\(origin(of: name))")
        }
        return number
    }
}
