//! The format of the files that people write, as data.
//!
//! One declaration gives the struct that a mapping is read into, the [`Record`] that a file is
//! checked against, and the schema that editors use.

#[derive(Debug)]
pub enum Shape {
    /// One scalar, which keeps its text.
    Text(Form),
    /// Text, or a list of texts that are its lines.
    Lines,
    /// `true` or `false`.
    Flag,
    /// `true`, `false` or text.
    FlagOrText,
    /// A whole number.
    Count,
    /// Seconds, or a time such as `10m`.
    Time,
    Choice(&'static [&'static str]),
    List(&'static Shape),
    /// A list, or what could be its only item.
    OneOrMany(&'static Shape),
    /// Text for bash and zsh, texts by shell, or just whether there are any.
    TextByShell(&'static Record),
    /// A mapping whose keys are up to the author.
    Map(Form, &'static Shape),
    Record(&'static Record),
}

/// Constrains the content of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Any,
    /// Any text with at least one character.
    Some,
    TaskId,
    /// A name for a question or a profile.
    Name,
    /// A name that becomes an environment variable when written in capitals.
    DataKey,
    /// The name of an environment variable.
    Variable,
    Letter,
    /// An absolute path, or one below `~`.
    Path,
    Url,
    Pattern,
    /// A package of the system's own manager.
    SystemPackage,
    /// A formula or a cask.
    BrewPackage,
    NpmPackage,
    PythonPackage,
    Crate,
    Platform,
    /// Shell text. Stays last: patterns are counted by it.
    Command,
}

/// A mapping with fields of its own.
#[derive(Debug)]
pub struct Record {
    /// As in "a step has no field `x`".
    pub name: &'static str,
    pub fields: &'static [Field],
}

#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    pub shape: Shape,
    pub need: Need,
    /// The description that an editor shows.
    pub says: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Optional,
    /// Reported where it is missing; what else the record says is checked all the same.
    Expected,
    /// Without it the record means nothing.
    Essential,
}

impl Record {
    /// Whether there are fields without which it means nothing.
    pub fn has_essentials(&self) -> bool {
        self.fields.iter().any(|field| field.need == Need::Essential)
    }
}

/// Declares the fields of a record; their comments become the descriptions in the schema.
///
/// `optional` fields may be missing; JSON leaves them out if they have their default value. `kept`
/// fields may be missing as well and always stand in JSON. `given` fields are filled in by the
/// reader. A missing `expected` field is reported; a record without an `essential` one is dropped.
macro_rules! fields {
    ($( $(#[doc = $says:literal])+ $need:ident $name:ident $(($key:literal))?: $shape:expr, )*) => {
        &[$( $crate::model::format::Field {
            name: $crate::model::format::fields!(@name $name $($key)?),
            shape: $shape,
            need: $crate::model::format::fields!(@need $need),
            says: concat!($($says),+),
        }, )*]
    };
    (@name $name:ident) => { stringify!($name) };
    (@name $name:ident $key:literal) => { $key };
    (@need expected) => { $crate::model::format::Need::Expected };
    (@need essential) => { $crate::model::format::Need::Essential };
    (@need $optional:ident) => { $crate::model::format::Need::Optional };
}

/// Declares a struct and the record that files are checked against before they become one.
macro_rules! record {
    ($(#[$meta:meta])* pub struct $type:ident: $label:literal { $(
        $(#[doc = $says:literal])+
        $need:ident $name:ident $(($key:literal))?: $kind:ty = $shape:expr,
    )* }) => {
        $crate::model::format::record!(@fields
            [#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)] $(#[$meta])* pub struct $type]
            []
            $( { [$(#[doc = $says])+ $(#[serde(rename = $key)])?] $need $name $kind } )*
        );
        impl $type {
            pub const FORMAT: &'static $crate::model::format::Record =
                &$crate::model::format::Record {
                    name: $label,
                    fields: $crate::model::format::fields! {
                        $( $(#[doc = $says])+ $need $name $(($key))?: $shape, )*
                    },
                };
        }
    };
    (@fields $head:tt [$($done:tt)*] { [$($meta:tt)*] optional $name:ident $kind:ty } $($rest:tt)*) => {
        $crate::model::format::record!(@fields $head [
            $($done)* $($meta)*
            #[serde(default, skip_serializing_if = "crate::model::format::is_default")]
            pub $name: $kind,
        ] $($rest)*);
    };
    (@fields $head:tt [$($done:tt)*] { [$($meta:tt)*] given $name:ident $kind:ty } $($rest:tt)*) => {
        $crate::model::format::record!(
            @fields $head [$($done)* $($meta)* pub $name: $kind,] $($rest)*
        );
    };
    (@fields $head:tt [$($done:tt)*] { [$($meta:tt)*] $need:ident $name:ident $kind:ty } $($rest:tt)*) => {
        $crate::model::format::record!(
            @fields $head [$($done)* $($meta)* #[serde(default)] pub $name: $kind,] $($rest)*
        );
    };
    (@fields [$($head:tt)*] [$($done:tt)*]) => { $($head)* { $($done)* } };
}

pub(crate) use {fields, record};

/// Whether a value can be left out of JSON.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
