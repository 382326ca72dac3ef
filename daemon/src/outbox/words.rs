//! States, events and actors as their words in the database. The vocabulary itself knows no database.

use rusqlite::{
    ToSql,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef},
};

use crate::message::state::{Actor, Event, PartState, State};

macro_rules! stored_as_words {
    ($($name:ident),*) => {$(
        impl FromSql for $name {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                Self::from_word(value.as_str()?).ok_or(FromSqlError::InvalidType)
            }
        }

        impl ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.word().into())
            }
        }
    )*};
}

stored_as_words!(State, Event, Actor, PartState);
