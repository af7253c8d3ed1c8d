internal import Glibc

/// A random number generator whose numbers a printed seed reproduces: SplitMix64.
package struct Seeded: RandomNumberGenerator, Sendable {
    /// The seed.
    package let seed: UInt64
    private var state: UInt64

    package init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// Takes the seed from `TRANSFER_RUN_SEED` or draws one, and prints it with the test's name.
    package init(_ test: String) {
        let given = Environment["TRANSFER_RUN_SEED"].flatMap { UInt64($0) }
        let seed = given ?? UInt64.random(in: 0...UInt64.max)
        print("TRANSFER_RUN_SEED=\(seed) brings back this run of \(test)")
        self.init(seed: seed)
    }

    /// Returns the next 64 random bits.
    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a random number from 0 up to, and not including, `bound`.
    package mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }

    /// True once in `times` on average.
    package mutating func oneIn(_ times: Int) -> Bool { below(times) == 0 }

    /// Returns a random element; `choices` must not be empty.
    package mutating func pick<Choices: RandomAccessCollection>(_ choices: Choices) -> Choices.Element {
        choices[choices.index(choices.startIndex, offsetBy: below(choices.count))]
    }

    /// Returns `count` random bytes.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count { withUnsafeBytes(of: next()) { bytes += $0 } }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}

/// How often a randomised test repeats.
package enum Rounds {
    /// `count` in an ordinary run, twenty times that with `TRANSFER_RUN_LONG=1`.
    package static func scaled(_ count: Int) -> Int { isLong ? count * 20 : count }

    /// Whether `TRANSFER_RUN_LONG=1` asks for long tests.
    package static var isLong: Bool { Environment["TRANSFER_RUN_LONG"] == "1" }
}

enum Environment {
    static subscript(name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
