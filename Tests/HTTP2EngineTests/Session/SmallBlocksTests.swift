import CNGHTTP2
import TestSupport
import Testing

@testable import HTTP2Engine

@Suite("Memory for the HTTP/2 library")
struct SmallBlocksTests {
    @Test("a freed block serves the next request of its size, and none that is larger")
    func reuse() {
        SmallBlocks().withAllocator { memory in
            let first = memory.pointee.malloc(100, memory.pointee.mem_user_data)
            let other = memory.pointee.malloc(100, memory.pointee.mem_user_data)
            #expect(first != other)
            memory.pointee.free(first, memory.pointee.mem_user_data)
            let larger = memory.pointee.malloc(1000, memory.pointee.mem_user_data)
            #expect(larger != first)
            #expect(memory.pointee.malloc(90, memory.pointee.mem_user_data) == first)
            for block in [first, other, larger] { memory.pointee.free(block, memory.pointee.mem_user_data) }
            memory.pointee.free(nil, memory.pointee.mem_user_data)
        }
    }

    @Test("what cannot be had is nil, and nothing is lost")
    func tooMuch() {
        SmallBlocks().withAllocator { memory in
            #expect(memory.pointee.malloc(.max, memory.pointee.mem_user_data) == nil)
            #expect(memory.pointee.calloc(.max, 2, memory.pointee.mem_user_data) == nil)
            let block = memory.pointee.malloc(8, memory.pointee.mem_user_data)
            block?.storeBytes(of: 42, as: UInt64.self)
            #expect(memory.pointee.realloc(block, .max, memory.pointee.mem_user_data) == nil)
            #expect(block?.load(as: UInt64.self) == 42)
            memory.pointee.free(block, memory.pointee.mem_user_data)
        }
    }

    /// A block and what was written into it.
    private struct Held {
        var block: UnsafeMutableRawPointer
        var size: Int
        var mark: UInt8

        func fill() {
            block.initializeMemory(as: UInt8.self, repeating: mark, count: size)
        }

        func isIntact(upTo count: Int) -> Bool {
            UnsafeRawBufferPointer(start: block, count: count).allSatisfy { $0 == mark }
        }
    }

    @Test("blocks keep what was written into them through any order of calls", arguments: 0..<20 as Range<UInt64>)
    func anyOrder(seed: UInt64) throws {
        var random = SeededRandom(seed: seed)
        try SmallBlocks().withAllocator { memory in
            let context = memory.pointee.mem_user_data
            var held: [Held] = []
            for step in 0..<2000 {
                let size = Int.random(in: 1...2000, using: &random)
                let mark = UInt8(truncatingIfNeeded: step)
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    let new = Held(block: try #require(memory.pointee.malloc(size, context)), size: size, mark: mark)
                    new.fill()
                    held.append(new)
                case 1:
                    var new = Held(block: try #require(memory.pointee.calloc(size, 1, context)), size: size, mark: 0)
                    #expect(new.isIntact(upTo: size))
                    new.mark = mark
                    new.fill()
                    held.append(new)
                case 2 where !held.isEmpty:
                    let index = Int.random(in: held.indices, using: &random)
                    let kept = min(size, held[index].size)
                    held[index].block = try #require(memory.pointee.realloc(held[index].block, size, context))
                    held[index].size = size
                    #expect(held[index].isIntact(upTo: kept))
                    held[index].fill()
                default:
                    guard let index = held.indices.randomElement(using: &random) else { break }
                    #expect(held[index].isIntact(upTo: held[index].size))
                    #expect(Int(bitPattern: held[index].block) % 16 == 0)
                    memory.pointee.free(held.remove(at: index).block, context)
                }
            }
            for one in held {
                #expect(one.isIntact(upTo: one.size))
                memory.pointee.free(one.block, context)
            }
        }
    }
}
