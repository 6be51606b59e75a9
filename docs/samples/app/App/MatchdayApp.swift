import SwiftUI
import TallyKit
import UIKit

/// The sample app: one match, its card, and what Tally knows of this phone.
@main
struct MatchdayApp: App {
    @UIApplicationDelegateAdaptor(AppDelegate.self) private var delegate

    var body: some Scene {
        WindowGroup { MatchView() }
    }
}

struct MatchView: View {
    @State private var news = ""

    var body: some View {
        VStack {
            Text("Argentina – France")
            Button("Follow") { Task { await follow() } }
            Button("Stop following") { Task { await AppDelegate.tally.end("final") } }
            Button("Sign in") { Task { await AppDelegate.tally.signIn("fan-7") } }
            Button("Sign out") { Task { await AppDelegate.tally.signOut() } }
            Button("What does Tally know?") { news = "\(AppDelegate.tally.status)" }
            Text(news)
        }
        .task {
            for await ending in AppDelegate.tally.endings { news = "\(ending.activity) was ended by: \(ending.cause)" }
        }
    }

    /// Your backend creates the activity first, and tells its attributes, its content and its revision.
    private func follow() async {
        let game = GameAttributes(homeTeam: "Argentina", awayTeam: "France", activityId: "final")
        let content = GameAttributes.ContentState(homeScore: 0, awayScore: 0, minute: 0, period: "firstHalf")
        do {
            _ = try await AppDelegate.tally.start(game, content, revision: 1)
        } catch {
            news = "\(error)"
        }
    }
}
