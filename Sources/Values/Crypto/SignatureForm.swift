// Form of a signature (CFG-96): the part of a verification that OpenSSL leaves to its caller. It takes a second ECDSA
// signature made from the first (high s), RSA signatures without their leading zero bytes, and Ed25519 keys under which
// anybody can sign. Each would let a carrier make other bytes of a good envelope, or a stranger a good signature.

import CTandemOpenSSL

/// Ed25519's points of small order, and what is no point. A key that is one makes the message drop out of the equation.
enum Ed25519Point {
    /// The points of order 1, 2, 4 and 8, with the sign of x cleared.
    private static let smallOrders: [[UInt8]] = [
        [1] + [UInt8](repeating: 0, count: 31),
        [0xEC] + [UInt8](repeating: 0xFF, count: 30) + [0x7F],
        [UInt8](repeating: 0, count: 32),
        [
            0x26, 0xE8, 0x95, 0x8F, 0xC2, 0xB2, 0x27, 0xB0, 0x45, 0xC3, 0xF4, 0x89, 0xF2, 0xEF, 0x98, 0xF0,
            0xD5, 0xDF, 0xAC, 0x05, 0xD3, 0xC6, 0x33, 0x39, 0xB1, 0x38, 0x02, 0x88, 0x6D, 0x53, 0xFC, 0x05,
        ],
        [
            0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F,
            0x2A, 0x20, 0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A,
        ],
    ]

    /// Whether the encoding is canonical: y is below the field's prime, and an x of zero has no sign.
    static func isCanonical(_ encoding: ArraySlice<UInt8>) -> Bool {
        let y = withoutSign(encoding)
        // The prime is ED FF ... FF 7F, least significant byte first.
        let isBelowPrime = y[0] < 0xED || y[31] != 0x7F || y[1..<31].contains { $0 != 0xFF }
        let hasZeroX = y == smallOrders[0] || y == smallOrders[1]
        return isBelowPrime && !(hasZeroX && isNegative(encoding))
    }

    /// Whether a canonical encoding is that of a point; OpenSSL asks that for the first signature only. The square of x
    /// is (y^2 - 1) / (d y^2 + 1), and that is a square exactly if the product of both is.
    static func isOnCurve(_ encoding: ArraySlice<UInt8>) -> Bool {
        let y = withoutSign(encoding)
        return openSSL {
            let context = unsafe BN_CTX_new()
            unsafe BN_CTX_start(context)
            defer {
                unsafe BN_CTX_end(context)
                unsafe BN_CTX_free(context)
            }
            var (prime, d) = unsafe (BN_CTX_get(context), BN_CTX_get(context))
            let (square, over, under) = unsafe (BN_CTX_get(context), BN_CTX_get(context), BN_CTX_get(context))
            guard unsafe BN_hex2bn(&prime, Self.prime) > 0, unsafe BN_hex2bn(&d, Self.d) > 0,
                unsafe BN_lebin2bn(y, Int32(y.count), square) != nil,
                unsafe BN_mod_sqr(square, square, prime, context) == 1,
                unsafe BN_mod_sub(over, square, BN_value_one(), prime, context) == 1,
                unsafe BN_mod_mul(under, square, d, prime, context) == 1,
                unsafe BN_add_word(under, 1) == 1, unsafe BN_mod_mul(over, over, under, prime, context) == 1
            else { return false }
            return unsafe BN_kronecker(over, prime, context) >= 0
        }.value
    }

    private static let prime = "7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFED"
    private static let d = "52036CEE2B6FFE738CC740797779E89800700A4D4141D8AB75EB4DCA135978A3"

    /// Whether a canonical encoding is that of a point of small order.
    static func isOfSmallOrder(_ encoding: ArraySlice<UInt8>) -> Bool { smallOrders.contains(withoutSign(encoding)) }

    private static func isNegative(_ encoding: ArraySlice<UInt8>) -> Bool {
        encoding.last.map { $0 & 0x80 != 0 } ?? false
    }

    private static func withoutSign(_ encoding: ArraySlice<UInt8>) -> [UInt8] {
        precondition(encoding.count == 32, "an Ed25519 point has 32 bytes")
        var y = Array(encoding)
        y[31] &= 0x7F
        return y
    }
}

/// An ECDSA signature over P-256 in DER, with its two numbers.
struct ECDSASignature {
    /// Numbers of at most 32 bytes, most significant first, without leading zeros.
    private let r: ArraySlice<UInt8>
    private let s: ArraySlice<UInt8>

    /// n, the order of the group.
    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]
    /// (n - 1) / 2, the highest low s.
    private static let half: [UInt8] = [
        0x7F, 0xFF, 0xFF, 0xFF, 0x80, 0x00, 0x00, 0x00, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xDE, 0x73, 0x7D, 0x56, 0xD3, 0x8B, 0xCF, 0x42, 0x79, 0xDC, 0xE5, 0x61, 0x7E, 0x31, 0x92, 0xA8,
    ]

    /// The signature with exactly this DER encoding; nil for BER, for numbers that are zero, negative or over 32 bytes,
    /// and for anything after them. OpenSSL compares the numbers with n.
    init?(_ bytes: [UInt8]) {
        var rest = bytes[...]
        guard rest.popFirst() == 0x30, let count = rest.popFirst(), count < 0x80, rest.count == Int(count),
            let r = Self.number(&rest), let s = Self.number(&rest), rest.isEmpty
        else { return nil }
        self.r = r
        self.s = s
    }

    private static func number(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard rest.popFirst() == 2, let count = rest.popFirst(), (1...33).contains(count), rest.count >= Int(count)
        else { return nil }
        var digits = rest.prefix(Int(count))
        rest = rest.dropFirst(Int(count))
        guard let first = digits.first, first < 0x80 else { return nil }
        if first == 0 {
            digits = digits.dropFirst()
            // A zero byte is there only because the next one would read as a sign.
            guard let next = digits.first, next >= 0x80 else { return nil }
        }
        return digits.count <= 32 ? digits : nil
    }

    /// Whether s is in the lower half of its range. (r, s) and (r, n - s) are both signatures; only this one is used.
    var isLow: Bool { s.count < 32 || !Self.half.lexicographicallyPrecedes(s) }

    /// The DER encoding of the low one of the two signatures.
    var normalized: [UInt8] {
        let low = isLow ? Array(s) : Self.difference(Self.order, s)
        let body = Self.element(Array(r)) + Self.element(low)
        return [0x30, UInt8(body.count)] + body
    }

    private static func element(_ number: [UInt8]) -> [UInt8] {
        let digits = (number.first ?? 0) >= 0x80 ? [0] + number : number
        return [0x02, UInt8(digits.count)] + digits
    }

    /// The difference of two numbers of 32 bytes, of which the first is the larger, without leading zeros.
    private static func difference(_ one: [UInt8], _ other: ArraySlice<UInt8>) -> [UInt8] {
        var borrow = 0
        let digits = zip(one.reversed(), other.reversed()).map { one, other -> UInt8 in
            let digit = Int(one) - Int(other) - borrow
            borrow = digit < 0 ? 1 : 0
            return UInt8(digit & 0xFF)
        }
        return Array(digits.reversed().drop { $0 == 0 })
    }
}
