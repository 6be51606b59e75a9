// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Apple documents them.

// What the sample app uses of Apple's WidgetKit, by its names and types (Apple, WidgetKit, "ActivityConfiguration"), so
// that it is compiled where there is no iOS. Nothing of it does anything.

public import ActivityKit
public import SwiftUI

public struct ActivityViewContext<Attributes: ActivityAttributes> {
    public let attributes: Attributes
    public let state: Attributes.ContentState
    public let isStale: Bool
}

public struct ActivityConfiguration<Attributes: ActivityAttributes>: WidgetConfiguration {
    public init<Content: View>(
        for attributesType: Attributes.Type,
        @ViewBuilder content: @escaping (ActivityViewContext<Attributes>) -> Content,
        dynamicIsland: @escaping (ActivityViewContext<Attributes>) -> DynamicIsland
    ) {}
}

public struct DynamicIslandExpandedRegionPosition: Sendable {
    public static let leading = Self()
    public static let trailing = Self()
    public static let bottom = Self()
}

public struct DynamicIslandExpandedRegion<Content: View> {
    public init(_ position: DynamicIslandExpandedRegionPosition, @ViewBuilder content: () -> Content) {}
}

@resultBuilder
public struct DynamicIslandExpandedContentBuilder {
    public static func buildBlock<each Content: View>(
        _ regions: repeat DynamicIslandExpandedRegion<each Content>
    ) {}
}

public struct DynamicIsland {
    public init<Leading: View, Trailing: View, Minimal: View>(
        @DynamicIslandExpandedContentBuilder expanded: () -> Void,
        @ViewBuilder compactLeading: () -> Leading,
        @ViewBuilder compactTrailing: () -> Trailing,
        @ViewBuilder minimal: () -> Minimal
    ) {}
}
