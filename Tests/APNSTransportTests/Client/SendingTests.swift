import APNSTransport
import ActivityModel
import Cryptography
import HTTP2Engine
import HTTP2TestSupport
import Testing

@Suite("Sending to tokens", .timeLimit(.minutes(1)), .bothSessions)
struct SendingTests {
    @Test("each token gets one request with the shared header fields and body")
    func everyTokenOnce() async throws {
        try await ClientWorld.run(script: { _ in .ok }) { world async throws in
            let outcome = try await world.send(3000)
            #expect(outcome.accepted == 3000)
            #expect(outcome.exceptions.isEmpty)
            let received = world.server.received
            #expect(Set(received.map(\.path)).count == 3000)
            #expect(received.count == 3000)
            let first = try #require(received.first)
            #expect(first.method == "POST")
            #expect(first.path == "/3/device/00000000")
            #expect(first.body == Array(#"{"aps":{}}"#.utf8))
            #expect(first["apns-topic"] == "com.example.Scores.push-type.liveactivity")
            #expect(first["apns-priority"] == "10")
            #expect(first["apns-expiration"] == "1763700600")
            #expect(first["apns-collapse-id"] == nil)
            let authorization = try #require(first["authorization"])
            #expect(received.allSatisfy { $0["authorization"] == authorization })
            let parts = authorization.dropFirst("bearer ".count).split(separator: ".").map(String.init)
            try #require(parts.count == 3)
            let signature = try #require(Base64URL.decode(parts[2]))
            let key = try testIdentity().privateKey.publicKey
            #expect(key.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8)))
            #expect(world.count(api: "device", status: "200", reason: "") == 3000)
        }
    }

    @Test("a new connection carries one request until the first answer, then many")
    func oneStreamFirst() async throws {
        try await ClientWorld.run(
            script: { request in
                request.number == 0
                    ? .answerAfter(.milliseconds(30), status: 200) : .answerAfter(.milliseconds(2), status: 200)
            },
            { world async throws in
                let outcome = try await world.send(500)
                #expect(outcome.accepted == 500)
                let received = world.server.received
                #expect(received.first?.open == 1)
                #expect(received.dropFirst().contains { $0.open > 1 })
            }
        )
    }

    @Test("nothing else leaves while the first request has no answer")
    func firstRequestAlone() async throws {
        try await ClientWorld.run(script: { _ in .silence }) { world async throws in
            let sending = Task { try await world.send(100) }
            await world.server.arrival(of: 1)
            await world.client.shutDown()
            let outcome = try await sending.value
            #expect(world.server.received.count == 1)
            #expect(outcome.classes == ["unknown": 1, "not_sent": 99])
            #expect(outcome.exceptions.first { $0.outcome.class == .unknown }?.index == 0)
        }
    }

    @Test("the server's stream limit is kept")
    func streamLimit() async throws {
        try await ClientWorld.run(
            maximumConcurrentStreams: 7,
            configuration: .oneConnection,
            script: { _ in .answerAfter(.milliseconds(1), status: 200) },
            { world async throws in
                #expect(try await world.send(200).accepted == 200)
                let most = world.server.received.map(\.open).max()
                #expect(most == 7)
            }
        )
    }

    @Test("answers of every kind reach their own tokens")
    func mixedAnswers() async throws {
        try await ClientWorld.run(
            script: { request in
                switch request.path.suffix(1) {
                case "1":
                    .answer(status: 410, body: #"{"reason":"Unregistered","timestamp":1763700000123}"#)
                case "2": .refusal(400, "BadDeviceToken")
                case "3": .refusal(429, "TooManyRequests")
                case "4": .refusal(500, "InternalServerError")
                case "5": .refusal(400, "SomethingNew")
                case "6":
                    .answer(status: 410, fields: [HTTP2Header("apns-id", "ID-6")], body: #"{"reason":"ExpiredToken"}"#)
                default: .ok
                }
            },
            { world async throws in
                let outcome = try await world.send(16)
                #expect(outcome.accepted == 10)
                var byIndex: [Int: PushOutcome] = [:]
                for exception in outcome.exceptions { byIndex[exception.index] = exception.outcome }
                #expect(byIndex.keys.sorted() == [1, 2, 3, 4, 5, 6])
                #expect(byIndex[1]?.class == .tokenDead(at: 1_763_700_000_123))
                #expect(byIndex[2]?.class == .tokenRejected)
                #expect(byIndex[3]?.class == .retry)
                #expect(byIndex[4]?.class == .retry)
                #expect(byIndex[5]?.class == .retry)
                #expect(byIndex[5]?.reason == "SomethingNew")
                #expect(byIndex[6]?.apnsID == "ID-6")
                #expect(outcome.rejected == 1)
                #expect(world.count(api: "device", status: "410", reason: "Unregistered") == 1)
                #expect(world.count(api: "device", status: "400", reason: "other") == 1)
            }
        )
    }

    @Test("Apple's names of a push are kept: of a single one, and of every one in the sandbox's delivery log")
    func receipts() async throws {
        try await ClientWorld.run(
            script: { request in
                let unique = request.path.hasSuffix("5") ? [HTTP2Header("apns-unique-id", "U-5")] : []
                let fields = [HTTP2Header("apns-id", "ID-\(request.path.suffix(1))")] + unique
                return request.path.hasSuffix("7")
                    ? .answer(
                        status: 410,
                        fields: fields + [HTTP2Header("apns-unique-id", "U-7")],
                        body: #"{"reason":"Unregistered"}"#
                    ) : .answer(status: 200, fields: fields)
            },
            { world async throws in
                let one = try await world.send(1)
                #expect(one.receipts == [.init(index: 0, apnsID: "ID-0", uniqueID: nil)])
                let eight = try await world.send(8)
                #expect(eight.accepted == 7)
                #expect(eight.receipts == [.init(index: 5, apnsID: "ID-5", uniqueID: "U-5")])
                #expect(eight.exceptions.map(\.outcome.uniqueID) == ["U-7"])
            }
        )
    }

    @Test("a batch that wants receipts hears what Apple calls each push, accepted or not, and how long its answer took")
    func receiptsOfAll() async throws {
        try await ClientWorld.run(
            script: { request in
                let fields = [HTTP2Header("apns-id", "ID-\(request.path.suffix(1))")]
                return request.path.hasSuffix("3")
                    ? .answer(status: 410, fields: fields, body: #"{"reason":"Unregistered"}"#)
                    : .answer(status: 200, fields: fields)
            },
            { world async throws in
                var batch = try ClientWorld.batch(5)
                batch.wantsReceipts = true
                let outcome = await world.client.send(batch)
                #expect(outcome.exceptions.map(\.index) == [3])
                let receipts = outcome.receipts.sorted { $0.index < $1.index }
                #expect(receipts.map(\.apnsID) == ["ID-0", "ID-1", "ID-2", "ID-3", "ID-4"])
                #expect(receipts.allSatisfy { ($0.latency ?? .zero) > .zero })
            }
        )
    }

    @Test("a refused stream is sent again")
    func refusedStream() async throws {
        try await ClientWorld.run(
            script: { request in
                request.number.isMultiple(of: 5) ? .reset(.refusedStream) : .ok
            },
            { world async throws in
                let outcome = try await world.send(100)
                #expect(outcome.accepted == 100)
                #expect(Set(world.server.received.map(\.path)).count == 100)
                #expect(world.server.received.count > 100)
            }
        )
    }

    @Test("what a GOAWAY names as not processed is sent again, on another connection, and nothing twice")
    func goAway() async throws {
        try await ClientWorld.run(
            script: { request in
                request.number == 20 ? .goAwayAfter : .ok
            },
            { world async throws in
                let outcome = try await world.send(400)
                #expect(outcome.accepted == 400)
                let received = world.server.received
                #expect(Set(received.map(\.connection)).count > 1)
                #expect(Set(received.map(\.path)).count == 400)
            }
        )
    }

    @Test("a GOAWAY for the very first request only costs a connection")
    func goAwayAtOnce() async throws {
        try await ClientWorld.run(
            script: { request in
                request.connection == 1 ? .goAwayBefore() : .ok
            },
            { world async throws in
                #expect(try await world.send(10).accepted == 10)
                #expect(world.server.received.count == 11)
            }
        )
    }

    @Test("a lost connection leaves unknown what had left, and sends the rest")
    func connectionLost() async throws {
        try await ClientWorld.run(
            maximumConcurrentStreams: 10,
            configuration: .oneConnection,
            script: { request in
                switch request.number {
                case 0: .ok
                case 1..<10: .silence
                case 10: .drop
                default: .ok
                }
            },
            { world async throws in
                let outcome = try await world.send(50)
                #expect(outcome.classes == ["unknown": 10])
                #expect(outcome.accepted == 40)
                #expect(Set(world.server.received.map(\.path)).count == 50)
                #expect(world.server.received.count == 50)
            }
        )
    }

    @Test("a stream that is reset for another reason is unknown, and not sent again")
    func resetStream() async throws {
        try await ClientWorld.run(
            script: { request in
                request.path.hasSuffix("3") ? .reset(.internalError) : .ok
            },
            { world async throws in
                let outcome = try await world.send(8)
                #expect(outcome.classes == ["unknown": 1])
                #expect(outcome.exceptions.first?.index == 3)
                #expect(world.server.received.count == 8)
            }
        )
    }

    @Test("a request without an answer is given up after its time, and the batch goes on")
    func requestTimeout() async throws {
        var configuration = APNSClientConfiguration.oneConnection
        // A busy machine must not look like a server that is silent.
        configuration.requestTimeout = .seconds(6)
        try await ClientWorld.run(
            maximumConcurrentStreams: 4,
            configuration: configuration,
            script: { request in
                request.path.hasSuffix("2") ? .silence : .ok
            },
            { world async throws in
                let outcome = try await world.send(16 * 4)
                #expect(outcome.classes == ["unknown": 4])
                #expect(outcome.accepted == 60)
                #expect(world.server.received.count == 64)
            }
        )
    }

    @Test("connections are opened while the work would take longer on those that there are")
    func growth() async throws {
        var configuration = APNSClientConfiguration.quick
        configuration.maximumConnections = 4
        try await ClientWorld.run(
            maximumConcurrentStreams: 5,
            configuration: configuration,
            script: { _ in .answerAfter(.milliseconds(5), status: 200) },
            { world async throws in
                #expect(try await world.send(400).accepted == 400)
                let connections = Set(world.server.received.map(\.connection))
                #expect(connections == [1, 2, 3, 4])
            }
        )
    }

    @Test("many batches at once share the connection and keep their own answers")
    func manyBatches() async throws {
        try await ClientWorld.run(
            script: { request in
                request.path.hasSuffix("7") ? .refusal(400, "BadDeviceToken") : .ok
            },
            { world async throws in
                try await withThrowingTaskGroup(of: BatchOutcome.self) { group in
                    for size in 1...40 {
                        group.addTask { try await world.send(size) }
                    }
                    for try await outcome in group {
                        let expected = (0..<outcome.count).count { $0 % 16 == 7 }
                        #expect(outcome.rejected == expected)
                        #expect(outcome.accepted == outcome.count - expected)
                    }
                }
            }
        )
    }

    @Test("an empty batch and an oversized body never reach the server")
    func localRefusals() async throws {
        try await ClientWorld.run(script: { _ in .ok }) { world async throws in
            #expect(try await world.send(0).count == 0)
            var batch = try ClientWorld.batch(2)
            batch.body = [UInt8](repeating: 32, count: 4097)
            let outcome = await world.client.send(batch)
            #expect(outcome.classes == ["request_invalid": 2])
            #expect(outcome.exceptions.first?.outcome.reason == "PayloadTooLarge")
            #expect(world.server.received.isEmpty)
        }
    }

    @Test("a caller that is cancelled is told what became of what had left, and nothing more leaves")
    func cancelled() async throws {
        try await ClientWorld.run(script: { _ in .answerAfter(.seconds(1), status: 200) }) { world async throws in
            let task = Task { try await world.send(5) }
            await world.server.arrival(of: 1)
            task.cancel()
            let outcome = try await task.value
            #expect(outcome.accepted == 1)
            #expect(outcome.classes == ["not_sent": 4])
            #expect(world.server.received.count == 1)
        }
    }

    @Test("what comes back unprocessed to a caller that is cancelled does not leave again")
    func cancelledAndRefused() async throws {
        let script: ScriptedServer.Script = { $0.number == 0 ? .ok : .resetAfter(.seconds(1), .refusedStream) }
        try await ClientWorld.run(configuration: .oneConnection, script: script) { world async throws in
            #expect(try await world.send(1).accepted == 1)
            let task = Task { try await world.send(3) }
            await world.server.arrival(of: 4)
            task.cancel()
            #expect(try await task.value.classes == ["not_sent": 3])
            #expect(world.server.received.count == 4)
        }
    }

    @Test("a caller that is cancelled waits for an answer until its deadline at most")
    func cancelledInSilence() async throws {
        try await ClientWorld.run(script: { _ in .silence }) { world async throws in
            let task = Task { try await world.send(5, deadline: .seconds(1)) }
            await world.server.arrival(of: 1)
            task.cancel()
            #expect(try await task.value.classes == ["unknown": 1, "not_sent": 4])
        }
    }

    @Test("after the end nothing is sent")
    func afterShutDown() async throws {
        try await ClientWorld.run(script: { _ in .ok }) { world async throws in
            #expect(try await world.send(1).accepted == 1)
            await world.client.shutDown()
            #expect(try await world.send(2).classes == ["not_sent": 2])
        }
    }
}

extension APNSClientConfiguration {
    /// Quick, and never more than one connection.
    static var oneConnection: APNSClientConfiguration {
        var configuration = APNSClientConfiguration.quick
        configuration.maximumConnections = 1
        return configuration
    }
}
