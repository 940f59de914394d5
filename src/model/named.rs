//! Enums whose values have names.

/// Declares an enum with a name for each value: `ALL` lists the values, and `name` returns the name
/// that documents, files and programs know. A serialized enum gives serde the same names.
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $type:ident {
        $( $(#[$value_meta:meta])* $value:ident = $name:literal, )*
    }) => {
        $(#[$meta])*
        $vis enum $type { $( $(#[$value_meta])* $value, )* }

        #[allow(dead_code, reason = "not every enum is listed, and not every one is named")]
        impl $type {
            $vis const ALL: [Self; [$($name),*].len()] = [$(Self::$value),*];
            $vis const NAMES: [&'static str; [$($name),*].len()] = [$($name),*];

            $vis fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }
    };
}

pub(crate) use named;
