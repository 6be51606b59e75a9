import CNGHTTP2
import Glibc

/// Memory for the HTTP/2 library, counted to the byte: bounds and leaks can be asserted without noise from elsewhere.
final class CountedMemory {
    private(set) var held = 0
    private(set) var peak = 0

    /// Lends the allocator to `body`; the session copies it, and must not outlive this object.
    func withAllocator<Result>(_ body: (UnsafeMutablePointer<nghttp2_mem>) throws -> Result) rethrows -> Result {
        var allocator = nghttp2_mem(
            mem_user_data: Unmanaged.passUnretained(self).toOpaque(),
            malloc: { size, memory in CountedMemory.of(memory).resize(nil, to: size) },
            free: { block, memory in CountedMemory.of(memory).release(block) },
            calloc: { count, size, memory in
                let block = CountedMemory.of(memory).resize(nil, to: count * size)
                block?.initializeMemory(as: UInt8.self, repeating: 0, count: count * size)
                return block
            },
            realloc: { block, size, memory in CountedMemory.of(memory).resize(block, to: size) }
        )
        return try body(&allocator)
    }

    /// Begins to look for the peak again.
    func forgetPeak() {
        peak = held
    }

    private static func of(_ memory: UnsafeMutableRawPointer?) -> CountedMemory {
        guard let memory else { preconditionFailure("the library lost the allocator's user data") }
        return Unmanaged<CountedMemory>.fromOpaque(memory).takeUnretainedValue()
    }

    /// A block's size stands in front of it; as far apart as the alignment of `malloc` demands.
    private static let headSize = 16

    private func resize(_ block: UnsafeMutableRawPointer?, to size: Int) -> UnsafeMutableRawPointer? {
        let old = block.map { $0 - Self.headSize }
        let oldSize = old?.load(as: Int.self) ?? 0
        guard let new = realloc(old, size + Self.headSize) else { return nil }
        new.storeBytes(of: size, as: Int.self)
        held += size - oldSize
        peak = max(peak, held)
        return new + Self.headSize
    }

    private func release(_ block: UnsafeMutableRawPointer?) {
        guard let old = block.map({ $0 - Self.headSize }) else { return }
        held -= old.load(as: Int.self)
        free(old)
    }
}
