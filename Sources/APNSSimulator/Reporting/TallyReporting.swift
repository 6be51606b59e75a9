/// How simulated apps reach Tally. Both methods return once Tally has accepted the report, and throw otherwise.
package protocol TallyReporting: Sendable {
    func report(_ report: DeviceReport, of phone: PhoneProfile) async throws
    func report(_ report: SubscriptionReport, of phone: PhoneProfile) async throws
}
