// swift-format-ignore-file: NeverForceUnwrap
// A constant that is no URL shows at the first launch.

import ActivityKit
import Foundation
import TallyKit
import UIKit

extension GameAttributes: TallyAttributes {
    var tallyID: String { activityId }
}

/// The app's delegate, which SwiftUI makes.
final class AppDelegate: NSObject, UIApplicationDelegate {
    @MainActor static let tally = Tally(
        server: URL(string: "https://tally.example.com:8443")!,
        app: "com.example.matchday",
        ticket: { try await Backend.ticket(for: $0) }
    )

    func application(
        _ application: UIApplication,
        didFinishLaunchingWithOptions options: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool {
        Self.tally.follow(GameAttributes.self)
        Task {
            for await problem in Self.tally.problems { print("Tally: \(problem)") }
        }
        // This asks the user for nothing. Only alerts need permission.
        application.registerForRemoteNotifications()
        return true
    }

    func application(_ application: UIApplication, didRegisterForRemoteNotificationsWithDeviceToken token: Data) {
        Self.tally.deviceToken(token)
    }

    func application(
        _ application: UIApplication,
        didReceiveRemoteNotification content: [AnyHashable: Any]
    ) async -> UIBackgroundFetchResult {
        Self.tally.wokenUp()
        return .newData
    }
}

/// Your own server, which knows who is signed in.
enum Backend {
    static func ticket(for request: TicketRequest) async throws -> Ticket {
        var post = URLRequest(url: URL(string: "https://backend.example.com/tally-ticket")!)
        post.httpMethod = "POST"
        post.httpBody = try JSONEncoder().encode(request)
        let (answer, _) = try await URLSession.shared.data(for: post)
        return try TallyJSON.decoder.decode(Ticket.self, from: answer)
    }
}
