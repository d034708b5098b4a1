@0xa4c1e85b7d20f693;
# What tools send: payloads of their streams (up), of multicasts (down), and parameters of
# aggregations. See wire/fields.h and wire/waves.h.
#
# New fields go to the end, ordinals are never reused. A reader that does not know the type of a
# field refuses the whole payload. So a new type needs a feature bit of the hello.

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("xylem::wire::schema");

struct Field {
  number @0 :UInt16;
  union {
    int64 @1 :Int64;
    uint64 @2 :UInt64;
    float64 @3 :Float64;
    string @4 :Text;             # any bytes, zeros included
    bytes @5 :Data;
    int64s @6 :List(Int64);
    uint64s @7 :List(UInt64);
    float64s @8 :List(Float64);
    strings @9 :List(Text);
  }
}

struct Fields {
  fields @0 :List(Field);        # ascending by number, each number once
}

struct Waves {
  # Payload of a packet of a tool stream: one entry for each wave of the packet's range.
  waves @0 :List(Fields);
}
