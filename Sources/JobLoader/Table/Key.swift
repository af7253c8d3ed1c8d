import YAMLTree

typealias NodeID = YAMLTree.NodeID

/// Which task types a key is for.
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

/// What a person or a schema must know of a key.
struct KeyDocument: Sendable {
    enum State: Sendable {
        case built
        /// Some of its values are built: `words` says which.
        case partly(String)
        case later
    }

    let name: StaticString
    let shape: Shape
    /// As it stands in the reference: `60s`, `none`, `required`.
    let standard: String
    let meaning: String
    let state: State
    var types = TypeSet.all
    var isRequired: Bool { standard == "required" }
}

/// Where in a target a value belongs. Asked for when it is needed: to make a key path takes the runtime some microseconds,
/// and a job uses few of the keys there are.
typealias PathTo<Target, Value> = @Sendable () -> any WritableKeyPath<Target, Value> & Sendable

/// One row of the table of keys: how a key is called, what it means, and how its value is read into a `Target`.
struct Key<Target>: Sendable {
    typealias Decode = @Sendable (_ target: inout Target, _ value: NodeID, _ reader: Reader) -> Void
    typealias Check = @Sendable (_ target: Target) -> Bool

    var document: KeyDocument
    /// Whether what now stands in the target needs behaviour that does not exist yet; `nil` when all is built.
    var needsLater: Check?
    /// Reads the value over what stands in the target: maps merge, all else replaces.
    var decode: Decode
    /// What `null` does: the target is as if nothing had ever been written.
    var reset: @Sendable (_ target: inout Target) -> Void
}

/// A value whose every part has its contract default.
protocol Blank: SendableMetatype {
    static var blank: Self { get }
}

/// When a key's behaviour exists.
enum Availability<Target>: Sendable {
    case built
    case later
    /// Not yet, but for the values that today's behaviour already gives.
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
    /// A key whose value is read whole.
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

    /// A key that reads over what stands there already.
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

    /// A key whose map is described by a section of its own.
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
    /// The same row, seen from a target that holds this one's.
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
