internal import CXXHash
package import TransferModel

/// A checksum of bytes that arrive piece by piece, many times faster than a digest: it tells a damaged or changed file
/// from an unchanged one. It is no proof against deliberate forgery.
///
/// XXH3 with 128 bits, in every version, because sums are stored. Belongs to one thread at a time.
@safe package final class QuickSum {
    private let state: OpaquePointer

    package init() {
        let made = unsafe tr_sum_begin()
        precondition(unsafe made != nil, "there is no memory for a sum")
        unsafe state = made.unsafelyUnwrapped
    }

    deinit { unsafe tr_sum_end(state) }

    /// Begins anew, as after `init`.
    func restart() { unsafe tr_sum_restart(state) }

    /// Adds the next bytes.
    package func update(_ bytes: UnsafeRawBufferPointer) {
        guard unsafe !bytes.isEmpty else { return }
        unsafe tr_sum_add(state, bytes.baseAddress, bytes.count)
    }

    /// The 16 bytes of the sum of the bytes so far; more may follow.
    package var soFar: [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 16) { buffer, filled in
            unsafe tr_sum_so_far(state, buffer.baseAddress)
            filled = 16
        }
    }

    /// `soFar` as the checksum that a report shows.
    package var checksum: Checksum { Checksum(algorithm: .xxh3, bytes: soFar) }
}
