import CNGHTTP2
import Glibc

/// An allocator for the many small objects that libnghttp2 creates and frees with every request.
///
/// It keeps freed blocks by size for the next request, without the search and merging of `malloc`. Hundreds of
/// concurrent requests with five objects each exceed the caches of `malloc`. The kept memory is at most the peak use.
/// It is not thread-safe and must outlive the session that uses it.
@safe
final class SmallBlocks {
    /// The size of the head of each block, which contains its class or `large`. It follows the alignment of `malloc`.
    private static let headSize = 16
    private static let step = 64
    private static let classes = 20
    private static let large = -1

    /// The first free block of each class. Each free block contains the address of the next one.
    private let free: UnsafeMutablePointer<UnsafeMutableRawPointer?>

    init() {
        unsafe free = .allocate(capacity: Self.classes)
        unsafe free.initialize(repeating: nil, count: Self.classes)
    }

    deinit {
        for index in 0..<Self.classes {
            var next = unsafe free[index]
            while let block = unsafe next {
                unsafe next = block.load(as: UnsafeMutableRawPointer?.self)
                unsafe Glibc.free(block - Self.headSize)
            }
        }
        unsafe free.deallocate()
    }

    /// Lends the library's view of this object to `body`. A session copies it.
    func withAllocator<Result, Failure: Error>(
        _ body: (UnsafeMutablePointer<nghttp2_mem>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var allocator = unsafe nghttp2_mem(
            mem_user_data: Unmanaged.passUnretained(self).toOpaque(),
            malloc: { size, memory in unsafe SmallBlocks.with(memory) { unsafe $0.allocate(size) } },
            free: { block, memory in
                guard let block = unsafe block else { return }
                _ = unsafe SmallBlocks.with(memory) { blocks in
                    unsafe blocks.release(block)
                    return nil
                }
            },
            calloc: { count, size, memory in
                let (bytes, overflow) = count.multipliedReportingOverflow(by: size)
                guard !overflow else { return nil }
                let block = unsafe SmallBlocks.with(memory) { unsafe $0.allocate(bytes) }
                unsafe block?.initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
                return unsafe block
            },
            realloc: { block, size, memory in
                unsafe SmallBlocks.with(memory) { unsafe $0.resize(block, to: size) }
            }
        )
        return try unsafe body(&allocator)
    }

    /// Lends the blocks without reference counting, which would cost more than the work.
    @inline(__always)
    private static func with(
        _ memory: UnsafeMutableRawPointer?,
        _ body: (SmallBlocks) -> UnsafeMutableRawPointer?
    ) -> UnsafeMutableRawPointer? {
        guard let memory = unsafe memory else { return nil }
        return unsafe Unmanaged<SmallBlocks>.fromOpaque(memory)._withUnsafeGuaranteedRef { unsafe body($0) }
    }

    private func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        let index = max(size - 1, 0) / Self.step
        guard index < Self.classes else { return unsafe fresh(size, Self.large) }
        guard let block = unsafe free[index] else { return unsafe fresh((index + 1) * Self.step, index) }
        unsafe free[index] = block.load(as: UnsafeMutableRawPointer?.self)
        return unsafe block
    }

    private func fresh(_ size: Int, _ index: Int) -> UnsafeMutableRawPointer? {
        let (bytes, overflow) = size.addingReportingOverflow(Self.headSize)
        guard !overflow, let start = unsafe Glibc.malloc(bytes) else { return nil }
        unsafe start.storeBytes(of: index, as: Int.self)
        return unsafe start + Self.headSize
    }

    private func release(_ block: UnsafeMutableRawPointer) {
        let index = unsafe (block - Self.headSize).load(as: Int.self)
        guard index != Self.large else { return unsafe Glibc.free(block - Self.headSize) }
        unsafe block.storeBytes(of: free[index], as: UnsafeMutableRawPointer?.self)
        unsafe free[index] = block
    }

    private func resize(_ block: UnsafeMutableRawPointer?, to size: Int) -> UnsafeMutableRawPointer? {
        guard let block = unsafe block else { return unsafe allocate(size) }
        let index = unsafe (block - Self.headSize).load(as: Int.self)
        guard index != Self.large else {
            let (bytes, overflow) = size.addingReportingOverflow(Self.headSize)
            guard !overflow, let start = unsafe Glibc.realloc(block - Self.headSize, bytes) else { return nil }
            return unsafe start + Self.headSize
        }
        let room = (index + 1) * Self.step
        guard size > room else { return unsafe block }
        guard let larger = unsafe allocate(size) else { return nil }
        unsafe larger.copyMemory(from: block, byteCount: room)
        unsafe release(block)
        return unsafe larger
    }
}
