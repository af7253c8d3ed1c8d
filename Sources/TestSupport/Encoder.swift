internal import CBrotliEncoder
internal import CLZMA
internal import CZlib
internal import CZstd

/// Encodes bodies as servers do, with the encoders of the libraries whose decoders are under test.
package enum Encoder {
    /// Encodes with `Content-Encoding: gzip`.
    package static func gzip(_ bytes: [UInt8], level: Int = 6) -> [UInt8] {
        deflated(bytes, windowBits: MAX_WBITS + 16, level)
    }

    /// Encodes as zlib, which is what the standard calls `deflate`.
    package static func zlib(_ bytes: [UInt8], level: Int = 6) -> [UInt8] {
        deflated(bytes, windowBits: MAX_WBITS, level)
    }

    /// Encodes as raw deflate, which some servers send as `deflate`.
    package static func rawDeflate(_ bytes: [UInt8], level: Int = 6) -> [UInt8] {
        deflated(bytes, windowBits: -MAX_WBITS, level)
    }

    /// Encodes with `Content-Encoding: br`, with brotli's default window.
    package static func brotli(_ bytes: [UInt8], quality: Int = 5) -> [UInt8] {
        var size = BrotliEncoderMaxCompressedSize(bytes.count) + 64
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
            let isDone = bytes.withUnsafeBufferPointer {
                BrotliEncoderCompress(
                    Int32(quality), BROTLI_DEFAULT_WINDOW, BROTLI_MODE_GENERIC, bytes.count, $0.baseAddress, &size,
                    buffer.baseAddress)
            }
            precondition(isDone == BROTLI_TRUE, "the brotli encoder failed")
            filled = size
        }
    }

    /// Encodes as one zstd frame. `windowLog` forces a window size, even if the content needs a smaller one.
    package static func zstd(
        _ bytes: [UInt8], level: Int = 3, hasChecksum: Bool = true, windowLog: Int? = nil
    ) -> [UInt8] {
        let context = ZSTD_createCCtx()
        defer { ZSTD_freeCCtx(context) }
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, Int32(level))
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, hasChecksum ? 1 : 0)
        if let windowLog {
            ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, Int32(windowLog))
            // With a content size, a short frame declares that it needs no window.
            ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0)
        }
        return [UInt8](unsafeUninitializedCapacity: ZSTD_compressBound(bytes.count)) { buffer, filled in
            var output = ZSTD_outBuffer(dst: buffer.baseAddress, size: buffer.count, pos: 0)
            bytes.withUnsafeBytes { source in
                var input = ZSTD_inBuffer(src: source.baseAddress, size: source.count, pos: 0)
                // Begin with more to come: a frame that is ended at once is made for its size.
                if windowLog != nil { ZSTD_compressStream2(context, &output, &input, ZSTD_e_continue) }
                let left = ZSTD_compressStream2(context, &output, &input, ZSTD_e_end)
                precondition(left == 0, "the zstd encoder failed")
            }
            filled = output.pos
        }
    }

    /// Encodes as one xz stream, with a CRC64 as `xz` writes it.
    package static func xz(_ bytes: [UInt8], preset: UInt32 = 1) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: bytes.count + bytes.count / 2 + 1_024) { buffer, filled in
            let code = lzma_easy_buffer_encode(
                preset, LZMA_CHECK_CRC64, nil, bytes, bytes.count, buffer.baseAddress, &filled, buffer.count)
            precondition(code == LZMA_OK, "the xz encoder failed")
        }
    }

    private static func deflated(_ bytes: [UInt8], windowBits: Int32, _ level: Int) -> [UInt8] {
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        let begun = deflateInit2_(
            &stream, Int32(level), Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
        precondition(begun == Z_OK, "the zlib encoder failed")
        defer { deflateEnd(&stream) }
        let room = Int(deflateBound(&stream, UInt(bytes.count)))
        return [UInt8](unsafeUninitializedCapacity: room) { buffer, filled in
            bytes.withUnsafeBufferPointer { source in
                stream.next_in = UnsafeMutablePointer(mutating: source.baseAddress)
                stream.avail_in = UInt32(source.count)
                stream.next_out = buffer.baseAddress
                stream.avail_out = UInt32(room)
                let code = deflate(&stream, Z_FINISH)
                precondition(code == Z_STREAM_END, "the zlib encoder failed")
            }
            filled = room - Int(stream.avail_out)
        }
    }
}
