import Glibc

/// SplitMix64, started from `TRANSFER_RUN_SEED` or from the clock; a failing test names the seed.
struct SeededRandom: RandomNumberGenerator {
    let seed: UInt64
    private var state: UInt64

    static func forThisRun() -> SeededRandom {
        let given = getenv("TRANSFER_RUN_SEED").flatMap { UInt64(String(cString: $0)) }
        let seed = given ?? UInt64.random(in: 0...UInt64(UInt32.max))
        print("TRANSFER_RUN_SEED=\(seed)")
        return SeededRandom(seed: seed)
    }

    init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// More of them with `TRANSFER_RUN_LONG=1`.
    func rounds(_ count: Int) -> Int { getenv("TRANSFER_RUN_LONG") == nil ? count : count * 100 }
}
