import Postgres
import TestSupport
import Testing

@Suite("Notifications", .timeLimit(.minutes(2)))
struct NotificationTests {
    @Test("They arrive in order, on the channels that were asked for")
    func order() async throws {
        try await withDatabase { database in
            var events = database.notifications(channels: ["news", "Odd \"one"]).makeAsyncIterator()
            #expect(await events.next() == .listening)
            try await database.withConnection { connection in
                try await connection.executeScript(
                    #"NOTIFY news, 'one'; NOTIFY other, 'no'; NOTIFY "Odd ""one", 'two'; NOTIFY news"#
                )
            }
            #expect(await events.next() == .notification(channel: "news", payload: "one"))
            #expect(await events.next() == .notification(channel: "Odd \"one", payload: "two"))
            #expect(await events.next() == .notification(channel: "news", payload: ""))
        }
    }

    @Test("After an interruption the listener is told that it may have missed something")
    func interruption() async throws {
        try await withDatabase { database in
            var events = database.notifications(channels: ["news"]).makeAsyncIterator()
            #expect(await events.next() == .listening)
            let listener = try #require(
                try await database.query(
                    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
                ).first(as: Int32.self)
            )
            try await TestCluster.shared.terminate(listener)
            #expect(await events.next() == .listening)
            try await database.execute("NOTIFY news, 'after'")
            #expect(await events.next() == .notification(channel: "news", payload: "after"))
        }
    }

    @Test("Cancelling the task ends the sequence")
    func cancellation() async throws {
        try await withDatabase { database in
            let started = AsyncStream.makeStream(of: Void.self)
            let task = Task {
                var count = 0
                for await _ in database.notifications(channels: ["news"]) {
                    count += 1
                    started.continuation.finish()
                }
                return count
            }
            for await _ in started.stream {}
            task.cancel()
            #expect(await task.value == 1)
        }
    }
}
