import ActivityModel
import JSON
import Testing

@Suite("Starts of the same id")
struct StartRecordTests {
    @Test(
        "A start of a taken id is judged against the stored start as far as the activity has come",
        arguments: [
            (.live, ["type": "Game", "content_state": ["score": 0.0], "attributes": ["id": 1]], .replay),
            (
                .scheduled, ["type": "Game", "content_state": ["score": 0], "attributes": ["id": 1]],
                .replay
            ),
            (.ended, ["type": "Game", "content_state": ["score": 0], "attributes": ["id": 1]], .replay),
            (
                .live, ["type": "Game", "content_state": ["score": 0], "attributes": ["id": 2]],
                .refuseAttributesConflict
            ),
            (
                .scheduled, ["type": "Game", "content_state": ["score": 1], "attributes": ["id": 2]],
                .refuseAttributesConflict
            ),
            (.live, ["type": "Game", "content_state": ["score": 1], "attributes": ["id": 1]], .refuseActivityExists),
            (
                .live, ["type": "Game", "content_state": ["score": 0], "attributes": ["id": 1], "urgency": "critical"],
                .refuseActivityExists
            ),
            (.ended, ["type": "Game", "content_state": ["score": 0], "attributes": ["id": 2]], .refuseActivityExists),
        ] as [(ActivityState, JSONObject, StartRecord.Repeat)]
    )
    func takenID(state: ActivityState, body: JSONObject, verdict: StartRecord.Repeat) {
        let record = StartRecord(
            body: ["type": "Game", "attributes": ["id": 1], "content_state": ["score": 0]]
        )
        #expect(record.judge(StartRecord(body: body), in: state) == verdict)
    }
}
