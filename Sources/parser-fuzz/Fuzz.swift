import Glibc
import ParserFuzzing

// What libFuzzer calls. `TRANSFER_RUN_FUZZED` names the parser.

private let parser: FuzzedParser = {
    let name = unsafe getenv("TRANSFER_RUN_FUZZED").map { unsafe String(cString: $0) } ?? ""
    guard let parser = FuzzedParser(rawValue: name) else {
        print("TRANSFER_RUN_FUZZED names no parser; there are \(FuzzedParser.allCases.map(\.rawValue))")
        exit(2)
    }
    return parser
}()

/// Reads one input; libFuzzer calls it with each.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    parser.read(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
