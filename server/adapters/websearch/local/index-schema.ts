/** Increase it with every change to what the builder writes, so that older indexes are rebuilt. */
export const BUILDER_VERSION = 6

/** The row of `meta` that records that the operator removed the built-in content. */
export const WITHOUT_BUILT_IN = 'without_built_in'

/** Passages of a document have the rowids `id * 4096 + position`: a row knows its document without a lookup. */
export const PASSAGES_PER_DOCUMENT = 4096

const TOKENIZER = "tokenize = 'porter unicode61 remove_diacritics 2'"

/** The tables of an index file. Readers never see a file change: a new one is written next to it and replaces it. */
export const SCHEMA: readonly string[] = [
  'CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID',
  `CREATE TABLE documents (
    id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, title TEXT NOT NULL, title_tokens INTEGER NOT NULL,
    hostname TEXT NOT NULL, site_name TEXT NOT NULL, description TEXT NOT NULL, kind TEXT NOT NULL, published TEXT,
    fetched_at INTEGER NOT NULL, lang TEXT NOT NULL, country TEXT, adult INTEGER NOT NULL, favicon TEXT NOT NULL,
    thumbnail TEXT NOT NULL, source INTEGER NOT NULL, origin TEXT NOT NULL)`,
  'CREATE INDEX documents_by_origin ON documents(source, origin)',
  `CREATE VIRTUAL TABLE passages USING fts5(title, heading, text, words, tokens UNINDEXED, ${TOKENIZER})`,
  // Where a document is about. The names, but for `name`, are folded; the country is a code.
  `CREATE TABLE places (
    document INTEGER PRIMARY KEY, name TEXT NOT NULL, latitude REAL, longitude REAL, city TEXT, state TEXT, country TEXT,
    postal_code TEXT)`,
  'CREATE INDEX places_by_latitude ON places(latitude)',
  'CREATE INDEX places_by_city ON places(city)',
  `CREATE TABLE images (
    id INTEGER PRIMARY KEY, page_url TEXT NOT NULL, title TEXT NOT NULL, image_url TEXT NOT NULL, width INTEGER,
    height INTEGER, fetched_at INTEGER NOT NULL, lang TEXT, country TEXT, adult INTEGER NOT NULL, favicon TEXT NOT NULL,
    source INTEGER NOT NULL, origin TEXT NOT NULL)`,
  'CREATE INDEX images_by_origin ON images(source, origin)',
  `CREATE VIRTUAL TABLE image_words USING fts5(title, tags, ${TOKENIZER})`,
  // The operator's sources (folders, files and URLs) and their content. Source 0 is the built-in content.
  `CREATE TABLE sources (
    id INTEGER PRIMARY KEY, location TEXT NOT NULL UNIQUE, settings TEXT NOT NULL, added_at INTEGER NOT NULL,
    read_at INTEGER NOT NULL)`,
  `CREATE TABLE own_files (
    source INTEGER NOT NULL, origin TEXT NOT NULL, hash TEXT NOT NULL, content TEXT NOT NULL,
    PRIMARY KEY (source, origin)) WITHOUT ROWID`,
  // The number of passages with each stem.
  'CREATE TABLE stems (stem TEXT PRIMARY KEY, passages INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE VIRTUAL TABLE passage_stems USING fts5vocab(passages, row)',
  // The number of documents and of images with each word as spelled.
  'CREATE TABLE vocabulary (word TEXT PRIMARY KEY, documents INTEGER NOT NULL, images INTEGER NOT NULL) WITHOUT ROWID',
]

/** Updates the totals after passages were written or removed. */
export const STATISTICS: readonly string[] = [
  'DELETE FROM stems',
  'INSERT INTO stems SELECT term, doc FROM passage_stems',
  `INSERT OR REPLACE INTO meta SELECT 'passages', count(*) FROM passages`,
  `INSERT OR REPLACE INTO meta SELECT 'mean_length', coalesce(round(avg(length(text))), 1) FROM passages`,
  "INSERT OR REPLACE INTO meta SELECT 'documents', count(*) FROM documents",
  "INSERT OR REPLACE INTO meta SELECT 'images', count(*) FROM images",
]
