/// How one device can be started by push. Depends on its iOS version and the activity's delivery (Apple, ActivityKit
/// pushes).
package enum DeviceCapability: Sendable, Hashable {
    /// Why a device is not started.
    package enum WithheldReason: String, Sendable, Hashable, CaseIterable {
        /// The activity uses a channel only.
        case needsIOS18 = "needs_ios_18"
        /// Earlier versions cannot be started by push.
        case needsIOS172 = "needs_ios_17_2"
        /// The user has switched Live Activities off.
        case activitiesDisabled = "activities_disabled"
    }

    /// Start with `input-push-token`: the phone hands out an update token.
    case withInputPushToken
    /// Start with `input-push-channel`: the phone subscribes to the channel.
    case withInputPushChannel
    /// Start without either key, which devices before iOS 18 would not understand.
    case plain
    /// Do not start.
    case withheld(WithheldReason)

    /// Decides for one device.
    ///
    /// A device of unknown version gets no key that only iOS 18 understands. An unknown `activitiesEnabled` counts as
    /// yes.
    package init(osVersion: OSVersion?, activitiesEnabled: Bool? = nil, delivery: Delivery) {
        if activitiesEnabled == false {
            self = .withheld(.activitiesDisabled)
            return
        }
        let knowsChannels = osVersion.map { $0 >= .channels } ?? false
        switch (delivery, knowsChannels) {
        case (.tokens, true):
            self = .withInputPushToken
        case (.channel, true), (.hybrid, true):
            self = .withInputPushChannel
        case (.channel, false):
            self = .withheld(.needsIOS18)
        case (.tokens, false), (.hybrid, false):
            let isTooOld = osVersion.map { $0 < .pushToStart } ?? false
            self = isTooOld ? .withheld(.needsIOS172) : .plain
        }
    }
}
