import YAMLTree

typealias NodeID = YAMLTree.NodeID

/// The task types that a key is for.
struct TypeSet: OptionSet, Sendable {
    let rawValue: UInt8
    static let data = TypeSet(rawValue: 1)
    static let download = TypeSet(rawValue: 2)
    static let upload = TypeSet(rawValue: 4)
    static let all: TypeSet = [.data, .download, .upload]

    var words: String {
        if self == .all { return "all" }
        let names: [(TypeSet, String)] = [(.data, "data"), (.download, "download"), (.upload, "upload")]
        return names.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}

/// A key's description for the reference and the schema.
struct KeyDocument: Sendable {
    enum State: Sendable {
        case built
        /// Some of its values are implemented: `words` says which.
        case partly(String)
        case later
    }

    let name: StaticString
    let shape: Shape
    /// The default as the reference shows it: `60s`, `none`, `required`.
    let standard: String
    let meaning: String
    let state: State
    var types = TypeSet.all
    var isRequired: Bool { standard == "required" }
}

/// Returns where in a target a value belongs. A closure, because making a key path takes some microseconds and a job
/// uses few of all keys.
typealias PathTo<Target, Value> = @Sendable () -> any WritableKeyPath<Target, Value> & Sendable

/// One row of the table of keys: a key's name and meaning, and how its value is read into a `Target`.
struct Key<Target>: Sendable {
    typealias Decode = @Sendable (_ target: inout Target, _ value: NodeID, _ reader: Reader) -> Void
    typealias Check = @Sendable (_ target: Target) -> Bool

    var document: KeyDocument
    /// Returns whether the target's present value needs behaviour that is not implemented; `nil` if all is implemented.
    var needsLater: Check?
    /// Reads the value over the target's present one: maps merge, other values replace.
    var decode: Decode
    /// Handles `null`: resets the target as if the key had never been written.
    var reset: @Sendable (_ target: inout Target) -> Void
}

/// A type with a value in which every key has its documented default.
protocol Blank: SendableMetatype {
    static var blank: Self { get }
}

/// Whether a key's behaviour is implemented.
enum Availability<Target>: Sendable {
    case built
    case later
    /// Not implemented, except for the values that present behaviour covers already.
    case except(String, @Sendable (_ target: Target) -> Bool)

    var state: KeyDocument.State {
        switch self {
        case .built: .built
        case .later: .later
        case .except(let words, _): .partly(words)
        }
    }

    var check: Key<Target>.Check? {
        switch self {
        case .built: nil
        case .later: { _ in true }
        case .except(_, let isFine): { !isFine($0) }
        }
    }
}

extension Key where Target: Blank {
    /// Creates a row whose value replaces the present one.
    init<Value>(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, Value>, _ shape: Shape,
        default standard: String,
        _ meaning: String, _ availability: Availability<Target> = .built,
        read: @escaping @Sendable (_ value: NodeID, _ reader: Reader) -> Value?
    ) {
        document = KeyDocument(
            name: name, shape: shape, standard: standard, meaning: meaning, state: availability.state)
        needsLater = availability.check
        decode = { target, value, reader in
            if let read = read(value, reader) { target[keyPath: path()] = read }
        }
        reset = { $0[keyPath: path()] = Target.blank[keyPath: path()] }
    }

    /// Creates a row whose value is read over the present one.
    init<Value>(
        _ name: StaticString, over path: @autoclosure @escaping PathTo<Target, Value>, _ shape: Shape,
        default standard: String, _ meaning: String, _ availability: Availability<Target> = .built,
        decode: @escaping @Sendable (_ target: inout Value, _ value: NodeID, _ reader: Reader) -> Void
    ) {
        document = KeyDocument(
            name: name, shape: shape, standard: standard, meaning: meaning, state: availability.state)
        needsLater = availability.check
        self.decode = { target, value, reader in decode(&target[keyPath: path()], value, reader) }
        reset = { $0[keyPath: path()] = Target.blank[keyPath: path()] }
    }

    /// Creates a row whose map is described by a section of its own.
    init<Value: SendableMetatype>(
        _ name: StaticString, _ path: @autoclosure @escaping PathTo<Target, Value>, section: Section<Value>,
        default standard: String, _ meaning: String, _ availability: Availability<Target> = .built
    ) {
        document = KeyDocument(
            name: name, shape: .object(section.name), standard: standard, meaning: meaning, state: availability.state)
        needsLater = availability.check
        decode = { target, value, reader in section.decode(value, into: &target[keyPath: path()], reader) }
        reset = { $0[keyPath: path()] = Target.blank[keyPath: path()] }
    }
}

extension Key {
    /// Returns the row for a target that contains this row's target.
    func lifted<Outer>(_ path: @autoclosure @escaping PathTo<Outer, Target>) -> Key<Outer> {
        let (decode, reset) = (decode, reset)
        var check: Key<Outer>.Check?
        if let needsLater { check = { outer in needsLater(outer[keyPath: path()]) } }
        let outerDecode: Key<Outer>.Decode = { outer, value, reader in decode(&outer[keyPath: path()], value, reader) }
        let outerReset: @Sendable (inout Outer) -> Void = { outer in reset(&outer[keyPath: path()]) }
        return Key<Outer>(document: document, needsLater: check, decode: outerDecode, reset: outerReset)
    }

    func only(for types: TypeSet) -> Key {
        var key = self
        key.document.types = types
        return key
    }
}
