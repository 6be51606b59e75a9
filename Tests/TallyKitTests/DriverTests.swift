import Foundation
import TallyKit
import Testing

/// What carries out the machine's decisions: files, tickets, streams.
@MainActor
@Suite("The driver")
struct DriverTests {
    private static let facts = PhoneFacts(environment: "production", osVersion: "18.1", appVersion: "2.10")

    /// The world around a driver.
    @MainActor
    private final class World {
        let folder = FileManager.default.temporaryDirectory.appending(path: "TallyKitTests-\(UUID().uuidString)")
        let reports: AsyncStream<Report>
        private let newReport: AsyncStream<Report>.Continuation
        var ticket: @Sendable (TicketRequest) async throws -> Ticket = { _ in
            Ticket("a ticket", expiresAt: Date(timeIntervalSinceNow: 3600))
        }
        var isBusy = false

        init() {
            (reports, newReport) = AsyncStream.makeStream()
        }

        deinit {
            // Only what the test wrote, in its own folder.
            try? FileManager.default.removeItem(at: folder)
        }

        func driver() -> Driver {
            Driver(
                file: MemoryFile(folder: folder),
                vendor: "this phone",
                world: .init(
                    now: { Date.now.timeIntervalSince1970 },
                    read: { Reading() },
                    endCard: { _ in },
                    ticket: ticket,
                    send: { [newReport] in newReport.yield($0) },
                    busy: { [weak self] in self?.isBusy = $0 }
                )
            )
        }

        func nextReport() async throws -> Report {
            for await report in reports { return report }
            throw CancellationError()
        }
    }

    @Test("a report leaves with a ticket of the backend, and the next process knows the answer")
    func remembers() async throws {
        let world = World()
        let first = world.driver()
        first.take(.launched(Self.facts))
        let report = try await world.nextReport()
        #expect(report.ticket == "a ticket")
        #expect(world.isBusy)
        first.take(.answer(report.number, Answer(status: 200, body: AnswerBody(accepted: true))))
        let second = world.driver()
        second.take(.launched(Self.facts))
        #expect(second.memory?.deviceID == report.deviceID)
        #expect(second.memory?.confirmedPhone?.news == report.news)
        #expect(TallyStatus(second.memory).userConfirmed)
    }

    @Test("what happens while the memory cannot be read waits, and no new phone is made of it")
    func locked() async throws {
        let world = World()
        let first = world.driver()
        first.take(.launched(Self.facts))
        let known = try #require(first.memory?.deviceID)
        let file = world.folder.appending(path: "TallyKit/memory.json")
        let aside = world.folder.appending(path: "aside")
        try FileManager.default.moveItem(at: file, to: aside)
        // A folder cannot be read as a file, as a file cannot before the first unlock.
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        let second = world.driver()
        second.take(.launched(Self.facts))
        second.take(.deviceToken("dd"))
        #expect(second.memory == nil)
        for await problem in second.problems {
            #expect(problem.code == .stateLost)
            break
        }
        try FileManager.default.removeItem(at: file)
        try FileManager.default.moveItem(at: aside, to: file)
        second.take(.foreground)
        #expect(second.memory?.deviceID == known)
        #expect(second.memory?.facts?.deviceToken == "dd")
    }

    @Test("a memory that is no JSON starts a new phone")
    func damaged() throws {
        let world = World()
        let file = world.folder.appending(path: "TallyKit/memory.json")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try Data("{".utf8).write(to: file)
        let driver = world.driver()
        driver.take(.launched(Self.facts))
        #expect(driver.memory != nil)
    }

    @Test("a backend that gives no ticket is a problem with its words")
    func noTicket() async throws {
        struct Offline: Error {}
        let world = World()
        world.ticket = { _ in throw Offline() }
        let driver = world.driver()
        driver.take(.launched(Self.facts))
        for await problem in driver.problems {
            #expect(problem.code == .ticketUnavailable)
            #expect(problem.description == "ticket_unavailable, Offline()")
            break
        }
    }

    @Test(
        "the answer of Tally to a request for a ticket is read as it is, and the request has the names of Tally's API"
    )
    func ticketJSON() throws {
        let answer = Data(#"{"ticket":"abc","expires_at":"2026-03-01T17:00:00Z"}"#.utf8)
        let ticket = try TallyJSON.decoder.decode(Ticket.self, from: answer)
        #expect(ticket == Ticket("abc", expiresAt: Date(timeIntervalSince1970: Life.start)))
        var life = Life()
        life.launch()
        let request = try JSONEncoder().encode(#require(life.tickets.first))
        let object = try #require(try JSONSerialization.jsonObject(with: request) as? NSDictionary)
        #expect(
            object == [
                "device_id": life.machine.memory.deviceID, "environment": "production", "signed_out": false,
            ]
        )
    }

    @Test(
        "a build from Xcode uses the sandbox, all others production",
        arguments: [("development", "sandbox"), ("production", "production"), (nil, "production")]
    )
    func environment(entitlement: String?, expected: String) {
        let profile = entitlement.map { Data("\u{1}\u{2}<key>aps-environment</key>\n\t<string>\($0)</string>".utf8) }
        #expect(PushEnvironment.ofThisBuild(profile: profile) == expected)
    }
}
