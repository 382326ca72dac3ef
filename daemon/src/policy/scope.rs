//! How far a person's words are trusted.

use std::fmt;

use rusqlite::{
    ToSql,
    types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef},
};
use serde::{Deserialize, Serialize};

/// How far somebody's words are trusted; less comes first, so that a turn is as trusted as the least of its items.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Shut out by a person: nothing of theirs is read.
    Blocked,
    /// Nobody has said who they are. What their words start stays in their conversation.
    Unknown,
    /// Let in. What their words start leaves its conversation only after a person approved.
    Known,
    /// Whose home it is. `cross_context` decides.
    Owner,
}

impl Scope {
    /// A column `scope` in SQL as a number, in the order of the type.
    pub const RANK: &str =
        "CASE scope WHEN 'blocked' THEN 0 WHEN 'unknown' THEN 1 WHEN 'known' THEN 2 ELSE 3 END";

    /// All of them.
    pub const ALL: [Self; 4] = [Self::Blocked, Self::Unknown, Self::Known, Self::Owner];

    /// The word by which it is stored and told.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Unknown => "unknown",
            Self::Known => "known",
            Self::Owner => "owner",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromSql for Scope {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let word = value.as_str()?;
        Self::ALL.into_iter().find(|scope| scope.word() == word).ok_or(FromSqlError::InvalidType)
    }
}

impl ToSql for Scope {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.word().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_has_them_in_the_same_order() {
        let db = rusqlite::Connection::open_in_memory().unwrap();
        let sql = format!("SELECT {} FROM (SELECT ? AS scope)", Scope::RANK);
        for scope in Scope::ALL {
            let rank: i64 = db.query_row(&sql, [scope], |row| row.get(0)).unwrap();
            assert_eq!(rank, scope as i64);
        }
    }
}
