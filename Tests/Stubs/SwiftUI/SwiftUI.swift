// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// Apple documents them.

// What the sample app uses of Apple's SwiftUI, by its names and types (Apple, SwiftUI, "View"), so that it is compiled
// where there is no iOS. Nothing of it does anything, and nothing runs it: a property that cannot have a value here traps.

@_exported public import Foundation
public import UIKit

@MainActor
@preconcurrency
public protocol View {
    associatedtype Body: View
    @ViewBuilder var body: Body { get }
}

extension Never: View {
    // Nothing draws a view here.
    public var body: Never { fatalError("a stub draws nothing") }
}

/// A view that SwiftUI itself draws.
public protocol BuiltInView: View where Body == Never {}

extension BuiltInView {
    public var body: Never { fatalError("a stub draws nothing") }
}

public struct TupleView<each Content: View>: BuiltInView {
    nonisolated init(_ content: repeat each Content) {}
}

extension Optional: View, BuiltInView where Wrapped: View { public typealias Body = Never }

@resultBuilder
public struct ViewBuilder {
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> TupleView<repeat each Content>
    {
        TupleView(repeat each content)
    }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { content }
}

public struct Text: BuiltInView {
    public init<Content: StringProtocol>(_ content: Content) {}
}

public struct VStack<Content: View>: BuiltInView {
    public init(@ViewBuilder content: () -> Content) {}
}

public struct HStack<Content: View>: BuiltInView {
    public init(@ViewBuilder content: () -> Content) {}
}

public struct Button: BuiltInView {
    public init<Title: StringProtocol>(_ title: Title, action: @escaping @MainActor () -> Void) {}
}

extension View {
    public func task(@_inheritActorContext _ action: @escaping @Sendable () async -> Void) -> some View { self }
}

@propertyWrapper
public struct State<Value> {
    private let value: Value

    public init(wrappedValue value: Value) { self.value = value }

    public var wrappedValue: Value {
        get { value }
        nonmutating set {}
    }
}

@MainActor
@preconcurrency
public protocol Scene {}

public struct WindowGroup<Content: View>: Scene {
    public init(@ViewBuilder content: () -> Content) {}
}

@MainActor
@preconcurrency
public protocol App {
    associatedtype Body: Scene
    var body: Body { get }
    init()
}

extension App {
    public static func main() {}
}

@MainActor
@propertyWrapper
public struct UIApplicationDelegateAdaptor<Delegate: NSObject & UIApplicationDelegate> {
    // Nothing runs an app here.
    public var wrappedValue: Delegate { fatalError("a stub makes no delegate") }

    public init(_ type: Delegate.Type = Delegate.self) {}
}

@MainActor
@preconcurrency
public protocol WidgetConfiguration {}

@MainActor
@preconcurrency
public protocol Widget {
    associatedtype Body: WidgetConfiguration
    var body: Body { get }
    init()
}

@MainActor
@preconcurrency
public protocol WidgetBundle {
    associatedtype Body: Widget
    var body: Body { get }
    init()
}

extension WidgetBundle {
    public static func main() {}
}
