import ActivityModel
import Testing

@testable import APNSTransport

@Suite("The works under way")
struct WorkTableTests {
    private func work(_ tokens: Int) throws -> Work {
        Work(
            head: .channelList(bundleID: try #require(BundleID("com.example.app"))),
            providerToken: ProviderToken(text: "", issuedAt: 0),
            tokens: ClientWorld.tokens(tokens),
            body: nil,
            deadline: .now,
            completion: { _ in }
        )
    }

    @Test("a tag finds its work and push")
    func find() throws {
        var table = WorkTable()
        let works = try (1...5).map { _ in try work(9) }
        for work in works { #expect(table.insert(work) == true) }
        #expect(table.count == 5)
        for work in works {
            let found = try #require(table.find(WorkTable.tag(work, 7)))
            #expect(found.work === work)
            #expect(found.index == 7)
        }
        #expect(table.find(UInt64.max) == nil)
        #expect(table.find(99 << 32) == nil)
    }

    @Test("a late answer to a finished work is not taken for one to the next work in its place")
    func generations() throws {
        var table = WorkTable()
        let first = try work(3)
        #expect(table.insert(first) == true)
        let tag = WorkTable.tag(first, 2)
        table.remove(first)
        table.remove(first)
        #expect(table.count == 0)
        let second = try work(3)
        #expect(table.insert(second) == true)
        #expect(table.find(tag) == nil)
        #expect(table.find(WorkTable.tag(second, 2))?.work === second)
        #expect(Array(table.works).count == 1)
    }
}
