//! The document, as the handlers say it of themselves.
//!
//! A handler is described where it stands: its path, its parameters, its body, its answers, and the refusals that
//! are its own. What follows from these is added here: who needs a token may be told that it has none, and what has a body
//! that it cannot be read.

use utoipa::{
    IntoResponses, ToSchema as _,
    openapi::{
        Components, HeaderBuilder, Info, Object, OpenApi, OpenApiBuilder, PathItem, Paths, RefOr,
        Response as Described, Schema, Type,
        path::Operation,
        schema::SchemaType,
        security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme},
    },
};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use super::super::{
    DESCRIPTIONS, Endpoint,
    problem::{Problem, Refused},
};

/// Makes what a path's handlers say of themselves.
pub(in crate::intake::http) type Describe = fn() -> UtoipaMethodRouter<Endpoint>;

/// What stands in it before the first route.
fn opening() -> OpenApi {
    let mut info = Info::new("Gatepost", env!("CARGO_PKG_VERSION"));
    info.description = Some(env!("CARGO_PKG_DESCRIPTION").to_owned());
    let mut components = Components::new();
    components.add_security_scheme("token", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    let mut schemas = Vec::new();
    Problem::schemas(&mut schemas);
    components.schemas.extend(schemas);
    components.schemas.insert(Problem::name().into_owned(), <Problem as utoipa::PartialSchema>::schema());
    OpenApiBuilder::new()
        .info(info)
        .components(Some(components))
        .security(Some([SecurityRequirement::new::<_, [&str; 0], &str>("token", [])]))
        .build()
}

/// Routes under a heading, each with a name of its own.
fn under(
    heading: &str,
    (schemas, mut paths, routes): UtoipaMethodRouter<Endpoint>,
) -> UtoipaMethodRouter<Endpoint> {
    for operation in operations(&mut paths) {
        operation.tags = Some(vec![heading.to_owned()]);
        operation.operation_id = operation.operation_id.take().map(|name| format!("{heading}_{name}"));
    }
    (schemas, paths, routes)
}

/// All that the routes say, and what follows from it.
fn described() -> OpenApi {
    let all = DESCRIPTIONS.iter().fold(OpenApiRouter::with_openapi(opening()), |all, (heading, make)| {
        all.routes(under(heading, make()))
    });
    let mut described = all.into_openapi();
    operations(&mut described.paths).for_each(complete);
    described
}

fn operations(paths: &mut Paths) -> impl Iterator<Item = &mut Operation> {
    fn of_path(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
        [item.get.as_mut(), item.post.as_mut(), item.delete.as_mut()].into_iter().flatten()
    }
    paths.paths.values_mut().flat_map(of_path)
}

fn complete(operation: &mut Operation) {
    // Only what is there for anybody says so.
    if operation.security.is_none() {
        // A query key that it does not know.
        add::<Refused<400>>(operation);
        add::<Refused<401>>(operation);
        add::<Refused<403>>(operation);
        add::<Refused<502>>(operation);
        if let Some(RefOr::T(refused)) = operation.responses.responses.get_mut("401") {
            let challenge = HeaderBuilder::new().schema(Some(Object::with_type(Type::String))).build();
            refused.headers.insert("WWW-Authenticate".into(), challenge.into());
        }
    }
    if operation.request_body.is_some() {
        add::<Refused<413>>(operation);
    }
    if operation.request_body.is_some()
        || operation.parameters.as_ref().is_some_and(|given| !given.is_empty())
    {
        add::<Refused<400>>(operation);
    }
    // A header that is left out is left out, and not null.
    for parameter in operation.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter
            && let Some(RefOr::T(Schema::Object(object))) = &mut parameter.schema
            && let SchemaType::Array(types) = &object.schema_type
            && let Some(given) = types.iter().find(|of| **of != Type::Null)
        {
            object.schema_type = SchemaType::Type(given.clone());
        }
    }
    for (status, response) in &mut operation.responses.responses {
        if let RefOr::T(Described { description, .. }) = response
            && description.is_empty()
        {
            *description = if status.starts_with('2') { "As asked.".into() } else { status.clone() };
        }
    }
}

fn add<R: IntoResponses>(operation: &mut Operation) {
    for (status, response) in R::responses() {
        operation.responses.responses.entry(status).or_insert(response);
    }
}

mod tests {
    use std::{
        collections::{BTreeMap, BTreeSet},
        env, fs,
        path::Path,
    };

    use serde_json::Value;

    use super::{super::super::routed, *};

    fn document() -> Value {
        serde_json::to_value(described()).unwrap()
    }

    #[test]
    fn the_document_is_what_the_handlers_say() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json");
        let mut document = document();
        let version = document["info"].as_object_mut().and_then(|info| info.remove("version"));
        assert_eq!(version.unwrap(), env!("CARGO_PKG_VERSION"));
        if env::var("GATEPOST_GOLDEN").is_ok_and(|wish| wish == "write") {
            fs::write(&path, serde_json::to_string_pretty(&document).unwrap() + "\n").unwrap();
            panic!("{} is written anew: look at it, and run without GATEPOST_GOLDEN", path.display());
        }
        let written = fs::read_to_string(&path).unwrap();
        let is_same = serde_json::from_str::<Value>(&written).is_ok_and(|written| written == document);
        assert!(is_same, "daemon/openapi.json is out of date: run cargo xtask openapi");
    }

    #[test]
    fn what_is_sent_is_the_document_with_the_version() {
        let mut sent: Value = serde_json::from_slice(&super::super::DOCUMENT).unwrap();
        let version = sent["info"].as_object_mut().and_then(|info| info.remove("version"));
        assert_eq!(version.unwrap(), env!("CARGO_PKG_VERSION"));
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json");
        assert_eq!(sent, serde_json::from_str::<Value>(&fs::read_to_string(path).unwrap()).unwrap());
    }

    #[test]
    fn what_is_routed_is_described_and_nothing_else() {
        let (routes, described) = (format!("{:?}", routed()), described());
        // What is quoted and begins so is a path; axum's own for its fallback ends in nothing, or in anything.
        let is_path = |text: &&str| text.starts_with('/') && *text != "/" && !text.starts_with("/{*");
        let routed: BTreeSet<&str> = routes.split('"').filter(is_path).collect();
        let described: BTreeSet<&str> = described.paths.paths.keys().map(String::as_str).collect();
        assert_eq!(routed, described);
        assert!(routed.contains("/v1/messages/{id}") && routed.contains("/mcp"), "{routed:?}");
    }

    #[test]
    fn every_call_has_a_name_of_its_own_and_words_for_each_answer() {
        let document = document();
        let mut names = BTreeSet::new();
        let paths = document["paths"].as_object().unwrap();
        for (path, operation) in paths.iter().flat_map(|(path, item)| {
            item.as_object().unwrap().values().map(move |operation| (path, operation))
        }) {
            assert!(names.insert(operation["operationId"].as_str().unwrap()), "{path}: {names:?}");
            assert!(!operation["summary"].as_str().unwrap().is_empty(), "{path}");
            let answers = operation["responses"].as_object().unwrap();
            for (status, answer) in answers {
                assert!(!answer["description"].as_str().unwrap().is_empty(), "{path} {status}");
            }
            // A platform, or a program outside, has no token: its proof is what it may lack. Nor has whoever signs in, by something else.
            let guarded = operation["security"].is_null()
                || (["/v1/platform/", "/v1/hooks/"].iter().any(|of| path.starts_with(of))
                    || path == "/v1/login")
                    && operation["requestBody"].is_object();
            assert_eq!(guarded, answers.contains_key("401"), "{path}");
            assert_eq!(operation["requestBody"].is_object(), answers.contains_key("413"), "{path}");
        }
    }

    #[test]
    fn no_two_schemas_have_one_name() {
        let mut known = BTreeMap::new();
        for (name, schema) in DESCRIPTIONS.iter().flat_map(|(_, make)| make().0) {
            let schema = serde_json::to_string(&schema).unwrap();
            assert_eq!(known.entry(name.clone()).or_insert_with(|| schema.clone()), &schema, "{name}");
        }
    }

    #[test]
    fn every_schema_that_is_named_is_there() {
        fn named(value: &Value, into: &mut BTreeSet<String>) {
            match value {
                Value::Object(members) => {
                    into.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                    members.values().for_each(|member| named(member, into));
                }
                Value::Array(members) => members.iter().for_each(|member| named(member, into)),
                _ => {}
            }
        }
        let document = document();
        let mut names = BTreeSet::new();
        named(&document, &mut names);
        assert!(
            names.contains("#/components/schemas/Message") && names.contains("#/components/schemas/Problem")
        );
        for name in names {
            assert!(document.pointer(&name[1..]).is_some(), "{name}");
        }
    }

    /// The page's table of calls, and the shapes of what they take.
    const API: &str = include_str!("../../../../web/api.js");
    const TYPES: &str = include_str!("../../../../web/types.js");

    /// Every call that the page makes: its name, and `METHOD path` with `*` for an argument.
    fn calls_of_the_page() -> Vec<(&'static str, &'static str)> {
        let table =
            API.split_once("const CALLS = {").expect("the table").1.split_once("};").expect("its end").0;
        let call = |line: &'static str| {
            let (name, call) = line.trim().trim_end_matches(',').split_once(": ")?;
            Some((name, call.trim_matches('"')))
        };
        let mut calls: Vec<_> = table.lines().filter_map(call).collect();
        // Those that are more than a call with JSON.
        for path in
            API.split(['`', '"']).filter_map(|text| text.strip_prefix("/v1/")).filter(|path| !path.is_empty())
        {
            calls.push(match path.split(['?', '$']).next().unwrap_or_default() {
                "audit/verify" => ("verifyAudit", "POST audit/verify"),
                "audit" => ("export", "GET audit"),
                "boards" => ("installBoard", "POST boards"),
                "events" => ("events", "GET events"),
                "files/" => ("file", "GET files/*"),
                "login" => ("login", "GET login"),
                other => panic!("{other:?} is a path in api.js that this test does not know"),
            });
        }
        calls
    }

    /// What the document says of a call of the page.
    fn described_call<'a>(document: &'a Value, call: &str) -> Option<&'a Value> {
        let (method, path) = call.trim_end_matches('?').split_once(' ')?;
        let wanted: Vec<&str> = ["", "v1"].into_iter().chain(path.split('/')).collect();
        let paths = document["paths"].as_object()?.iter();
        let fits = |path: &str| {
            let pieces: Vec<&str> = path.split('/').collect();
            pieces.len() == wanted.len()
                && pieces.iter().zip(&wanted).all(|(piece, wanted)| piece == wanted || *wanted == "*")
        };
        let method = method.to_ascii_lowercase();
        let mut found = paths.filter(|(path, item)| fits(path) && item.get(&method).is_some());
        found.next().map(|(_, item)| &item[method.as_str()])
    }

    #[test]
    fn every_call_of_the_page_is_one_of_the_hubs() {
        let (document, calls) = (document(), calls_of_the_page());
        assert!(calls.len() > 45, "{}", calls.len());
        for (name, call) in &calls {
            let is_there = described_call(&document, call).is_some();
            assert!(is_there, "the page calls {call} ({name}), and the hub has no such call");
        }
    }

    /// The keys of the object that a call of the page takes, as types.js has it.
    fn keys_of(name: &str) -> Vec<&'static str> {
        let line =
            TYPES.lines().find(|line| line.contains("@property {(") && line.ends_with(&format!("}} {name}")));
        let Some((_, rest)) = line.and_then(|line| {
            line.split_once(") => ").map(|(taken, _)| taken).and_then(|taken| taken.split_once(": {"))
        }) else {
            return vec![];
        };
        let object = rest.split('}').next().unwrap_or_default();
        object.split(", ").map(|key| key.split([':', '?']).next().unwrap_or_default()).collect()
    }

    #[test]
    fn what_the_page_gives_with_a_call_is_what_the_hub_takes() {
        let (document, mut looked_at) = (document(), 0);
        for (name, call) in calls_of_the_page() {
            let (Some(described), keys) = (described_call(&document, call), keys_of(name)) else { continue };
            let in_query = call.starts_with("GET") || call.ends_with('?');
            let parameters = described["parameters"].as_array().cloned().unwrap_or_default();
            let body = &described["requestBody"]["content"]["application/json"]["schema"];
            let body = body["$ref"].as_str().and_then(|name| document.pointer(&name[1..])).unwrap_or(body);
            for key in keys {
                let taken = match in_query {
                    true => parameters.iter().any(|one| one["name"] == key && one["in"] == "query"),
                    // The tool's own parameters, of which there are more than one schema.
                    false if call == "POST messages" => true,
                    false => body["properties"].get(key).is_some(),
                };
                assert!(taken, "the page gives {key:?} with {call} ({name}), and the hub does not take it");
                looked_at += 1;
            }
        }
        assert!(looked_at > 30, "{looked_at}");
    }
}
