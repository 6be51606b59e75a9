import APNSTransport
import ActivityModel
import HTTP2Engine
import Testing

@Suite("Requests on the wire")
struct RequestHeadTests {
    private let bundleID: BundleID
    private let channelID: APNSChannelID

    init() throws {
        bundleID = try #require(BundleID("com.example.Scores"))
        channelID = try #require(APNSChannelID("dHN0LXNyY2gtY2hubA=="))
    }

    @Test("a device push has the topic with its suffix, the priority always, and what else is set")
    func devicePush() {
        let head = RequestHead.devicePush(
            PushHeaders(bundleID: bundleID, priority: .five, expiration: 1_700_000_600, collapseID: "start-1")
        )
        #expect(head.method == "POST")
        #expect(head.path == "/3/device/")
        #expect(
            head.fields == [
                HTTP2Header("apns-topic", "com.example.Scores.push-type.liveactivity"),
                HTTP2Header("apns-push-type", "liveactivity"),
                HTTP2Header("apns-priority", "5"),
                HTTP2Header("apns-expiration", "1700000600"),
                HTTP2Header("apns-collapse-id", "start-1"),
            ]
        )
        #expect(
            RequestHead.devicePush(PushHeaders(bundleID: bundleID, priority: .ten)).fields == [
                HTTP2Header("apns-topic", "com.example.Scores.push-type.liveactivity"),
                HTTP2Header("apns-push-type", "liveactivity"),
                HTTP2Header("apns-priority", "10"),
            ]
        )
    }

    @Test("every push type is named in its own header and in the topic", arguments: PushType.allCases)
    func pushTypes(type: PushType) {
        let head = RequestHead.devicePush(PushHeaders(bundleID: bundleID, pushType: type, priority: .five))
        #expect(head.path == "/3/device/")
        #expect(
            head.fields == [
                HTTP2Header("apns-topic", "com.example.Scores" + type.topicSuffix),
                HTTP2Header("apns-push-type", type.rawValue),
                HTTP2Header("apns-priority", "5"),
            ]
        )
    }

    @Test("no field stands twice, which APNs would refuse as DuplicateHeaders")
    func noDuplicates() throws {
        let id = try #require(APNSRequestID("eabeae54-14a8-11e5-b60b-1697f925ec7b"))
        let push = PushHeaders(bundleID: bundleID, priority: .ten, expiration: 1, collapseID: "c", requestID: id)
        let heads: [RequestHead] = [
            .devicePush(push), .broadcast(try self.push(requestID: id)), .channelCreation(bundleID: bundleID),
            .channelReading(bundleID: bundleID, channelID: channelID),
            .channelDeletion(bundleID: bundleID, channelID: channelID), .channelList(bundleID: bundleID),
        ]
        for head in heads {
            let names = head.fields.map(\.name) + ["authorization"]
            #expect(Set(names).count == names.count)
        }
    }

    @Test("our own id of a request goes out as apns-id to a device and as apns-request-id to a channel")
    func requestIDs() throws {
        let id = try #require(APNSRequestID("EABEAE54-14A8-11E5-B60B-1697F925EC7B"))
        let device = RequestHead.devicePush(PushHeaders(bundleID: bundleID, priority: .ten, requestID: id))
        #expect(device.fields.last == HTTP2Header("apns-id", "eabeae54-14a8-11e5-b60b-1697f925ec7b"))
        let broadcast = RequestHead.broadcast(try push(requestID: id))
        #expect(broadcast.fields.last == HTTP2Header("apns-request-id", "eabeae54-14a8-11e5-b60b-1697f925ec7b"))
        #expect(!broadcast.fields.contains { $0.name == "apns-id" || $0.name == "apns-topic" })
    }

    private func push(requestID: APNSRequestID? = nil) throws -> BroadcastPush {
        BroadcastPush(
            environment: .sandbox,
            identity: try testIdentity(),
            bundleID: bundleID,
            channelID: channelID,
            storage: .none,
            priority: .ten,
            expiration: 0,
            body: [1],
            requestID: requestID
        )
    }

    @Test("a broadcast has the bare bundle id in its path, no topic, and an expiration even if it is 0")
    func broadcast() throws {
        let head = RequestHead.broadcast(try push())
        #expect(head.method == "POST")
        #expect(head.path == "/4/broadcasts/apps/com.example.Scores")
        #expect(
            head.fields == [
                HTTP2Header("apns-channel-id", "dHN0LXNyY2gtY2hubA=="),
                HTTP2Header("apns-push-type", "liveactivity"),
                HTTP2Header("apns-expiration", "0"),
                HTTP2Header("apns-priority", "10"),
            ]
        )
    }

    @Test("channel requests carry the id in a header and nothing of a push")
    func channels() {
        let id = [HTTP2Header("apns-channel-id", "dHN0LXNyY2gtY2hubA==")]
        let path = "/1/apps/com.example.Scores/channels"
        let creation = RequestHead.channelCreation(bundleID: bundleID)
        #expect((creation.method, creation.path) == ("POST", path))
        #expect(creation.fields.isEmpty)
        let reading = RequestHead.channelReading(bundleID: bundleID, channelID: channelID)
        #expect((reading.method, reading.path) == ("GET", path))
        #expect(reading.fields == id)
        let deletion = RequestHead.channelDeletion(bundleID: bundleID, channelID: channelID)
        #expect((deletion.method, deletion.path) == ("DELETE", path))
        #expect(deletion.fields == id)
        let list = RequestHead.channelList(bundleID: bundleID)
        #expect((list.method, list.path) == ("GET", "/1/apps/com.example.Scores/all-channels"))
        #expect(list.fields.isEmpty)
    }

    @Test(
        "the body that makes a channel spells the push type its own way",
        arguments: [
            (.none, #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#),
            (.mostRecent, #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#),
        ] as [(ChannelStorage, String)]
    )
    func creationBody(storage: ChannelStorage, expected: String) {
        #expect(String(decoding: RequestHead.channelCreationBody(storage: storage), as: UTF8.self) == expected)
    }
}
