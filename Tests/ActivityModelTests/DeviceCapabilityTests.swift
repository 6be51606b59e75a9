import ActivityModel
import Testing

@Suite("How a device is started")
struct DeviceCapabilityTests {
    @Test(
        "By iOS version and delivery",
        arguments: [
            ("18", .tokens, .withInputPushToken), ("18.0", .channel, .withInputPushChannel),
            ("26.1", .hybrid, .withInputPushChannel),
            ("17.2", .tokens, .plain), ("17.9.9", .hybrid, .plain), ("17.5", .channel, .withheld(.needsIOS18)),
            ("17.1", .tokens, .withheld(.needsIOS172)),
            ("16.4", .hybrid, .withheld(.needsIOS172)), ("16.4", .channel, .withheld(.needsIOS18)),
            (nil, .tokens, .plain), (nil, .hybrid, .plain), (nil, .channel, .withheld(.needsIOS18)),
        ] as [(String?, Delivery, DeviceCapability)]
    )
    func table(version: String?, delivery: Delivery, capability: DeviceCapability) {
        let version = version.flatMap { OSVersion($0) }
        #expect(DeviceCapability(osVersion: version, delivery: delivery) == capability)
        #expect(DeviceCapability(osVersion: version, activitiesEnabled: true, delivery: delivery) == capability)
        #expect(
            DeviceCapability(osVersion: version, activitiesEnabled: false, delivery: delivery)
                == .withheld(.activitiesDisabled)
        )
    }

    @Test("The reasons are the contract's words")
    func words() {
        #expect(
            DeviceCapability.WithheldReason.allCases.map(\.rawValue) == [
                "needs_ios_18", "needs_ios_17_2", "activities_disabled",
            ]
        )
        #expect(ChannelStorage.mostRecent.rawValue == "most_recent")
        #expect(ChannelStorage.allCases.map(\.policyNumber) == [0, 1])
    }
}
