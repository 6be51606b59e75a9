import JSON
import Testing

@testable import APNSSimulator

@Suite("The drawing of a phone")
struct PhoneDrawingTests {
    @Test("A card is a box with its state and content; what is too long is cut, and nothing controls the terminal")
    func card() {
        let phone: JSONValue = [
            "id": "phone-1", "os_version": "18.1", "offline": true, "force_quit": false, "received": 3, "ignored": 1,
            "activities": [
                [
                    "type": "GameAttributes", "activity_id": "final", "state": "active",
                    "content_state": [
                        "homeScore": 1, "period": "first\u{1B}Half",
                        "text": "a text that is far too long for one line of the card",
                    ],
                ]
            ],
        ]
        #expect(
            PhoneDrawing(phone: phone).text == """
                phone-1 · iOS 18.1 · offline
                ╭────────────────────────────────────────────────╮
                │ GameAttributes · final                  active │
                │ homeScore  1                                   │
                │ period     first\\u001bHalf                     │
                │ text       a text that is far too long for on… │
                ╰────────────────────────────────────────────────╯
                3 pushes received, 1 ignored
                """
        )
        #expect(PhoneDrawing(phone: ["id": "p", "activities": []]).text == "p · iOS ?\n(no card)\n0 pushes received")
    }
}
