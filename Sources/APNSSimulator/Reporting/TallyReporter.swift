package import APITypes
import ActivityModel
package import TallyClient

/// Reports through Tally's public API, like an app with a `register` key.
package struct TallyReporter: TallyReporting {
    private let client: TallyClient

    /// Opens no connection yet. Throws unless the URL has a form like `http://127.0.0.1:8080`. `key` needs the scope
    /// `register`.
    package init(url: String, key: String) throws(ClientError) {
        client = try TallyClient(
            TallyClient.Configuration(
                url: url,
                key: key,
                maximumConnections: 64,
                requestTimeout: .seconds(15),
                deadline: .seconds(30)
            )
        )
    }

    package func report(_ report: DeviceReport, of phone: PhoneProfile) async throws {
        _ = try await client.putDevice(phone.bundleID, phone.id, report.request(of: phone))
    }

    package func report(_ report: SubscriptionReport, of phone: PhoneProfile) async throws {
        guard let request = report.request(of: phone) else { return }
        _ = try await client.subscribe(phone.bundleID, report.activityID, phone.id, request)
    }
}

extension DeviceReport {
    /// The body of `PUT …/devices/{id}`.
    package func request(of phone: PhoneProfile) -> DeviceRequest {
        DeviceRequest(
            environment: phone.environment,
            user: ReportedUser(known: phone.userID),
            osVersion: phone.osVersion,
            appVersion: phone.appVersion,
            activitiesEnabled: true,
            frequentPushesEnabled: phone.frequentPushesEnabled,
            deviceToken: deviceToken.flatMap { PushToken(hex: $0) },
            startTokens: startTokens.compactMapValues { hex in
                PushToken(hex: hex).map { StartTokenRequest(token: $0, generation: generation) }
            }
        )
    }
}

extension SubscriptionReport {
    /// The body of `PUT …/subscriptions/{device}`; nil if the channel id is invalid, so that no app could have it.
    package func request(of phone: PhoneProfile) -> SubscriptionRequest? {
        let link: SubscriptionRequest.Report? =
            switch self.link {
            case .token(let hex): PushToken(hex: hex).map { .updateToken($0) }
            case .channel(let id): APNSChannelID(id).map { .channelID($0) }
            case .ended: .ended
            }
        guard let link else { return nil }
        return SubscriptionRequest(
            link,
            generation: generation,
            knownRevision: knownRevision,
            activityKitID: activityKitID,
            environment: phone.environment,
            osVersion: phone.osVersion,
            appVersion: phone.appVersion
        )
    }
}
