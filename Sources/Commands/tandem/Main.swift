// Entry point under construction.
@main enum Entry {
    static func main() {}
}
