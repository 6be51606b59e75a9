import ActivityKit
import SwiftUI
import WidgetKit

/// The widget extension: it draws the card. It needs no TallyKit, only the file with `GameAttributes`.
@main
struct MatchdayWidgets: WidgetBundle {
    var body: some Widget { MatchCard() }
}

struct MatchCard: Widget {
    var body: some WidgetConfiguration {
        ActivityConfiguration(for: GameAttributes.self) { card in
            // The lock screen.
            HStack {
                Text(card.attributes.homeTeam)
                Text(Self.score(card.state))
                Text(card.attributes.awayTeam)
                if card.isStale { Text("out of date") }
            }
        } dynamicIsland: { card in
            DynamicIsland {
                DynamicIslandExpandedRegion(.leading) { Text(card.attributes.homeTeam) }
                DynamicIslandExpandedRegion(.trailing) { Text(card.attributes.awayTeam) }
                DynamicIslandExpandedRegion(.bottom) { Text(card.state.lastEvent ?? Self.score(card.state)) }
            } compactLeading: {
                Text("\(card.state.homeScore)")
            } compactTrailing: {
                Text("\(card.state.awayScore)")
            } minimal: {
                Text(Self.score(card.state))
            }
        }
    }

    private static func score(_ state: GameAttributes.ContentState) -> String {
        "\(state.homeScore) : \(state.awayScore)"
    }
}
