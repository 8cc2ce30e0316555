/** Raised with every change to what the builder writes, so that an index of an older one is built anew. */
export const BUILDER_VERSION = 2

/** Passages of a document have the rowids `id * 4096 + position`: a row knows its document without a lookup. */
export const PASSAGES_PER_DOCUMENT = 4096

const TOKENIZER = "tokenize = 'porter unicode61 remove_diacritics 2'"

/** The tables of an index file. It is written once and then only read; a rebuild is a new file. */
export const SCHEMA: readonly string[] = [
  'CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID',
  `CREATE TABLE documents (
    id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, title TEXT NOT NULL, title_tokens INTEGER NOT NULL,
    hostname TEXT NOT NULL, site_name TEXT NOT NULL, description TEXT NOT NULL, kind TEXT NOT NULL, published TEXT, fetched_at INTEGER NOT NULL,
    lang TEXT NOT NULL, adult INTEGER NOT NULL, favicon TEXT NOT NULL, thumbnail TEXT NOT NULL)`,
  `CREATE VIRTUAL TABLE passages USING fts5(title, heading, text, words, tokens UNINDEXED, ${TOKENIZER})`,
  `CREATE TABLE images (
    id INTEGER PRIMARY KEY, page_url TEXT NOT NULL, title TEXT NOT NULL, image_url TEXT NOT NULL, width INTEGER NOT NULL,
    height INTEGER NOT NULL, fetched_at INTEGER NOT NULL, adult INTEGER NOT NULL, favicon TEXT NOT NULL)`,
  `CREATE VIRTUAL TABLE image_words USING fts5(title, tags, ${TOKENIZER})`,
  // In how many passages each stem stands.
  'CREATE TABLE stems (stem TEXT PRIMARY KEY, passages INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE VIRTUAL TABLE passage_stems USING fts5vocab(passages, row)',
]

/** Brings what is known of the whole up to date; run when passages were written or removed. */
export const STATISTICS: readonly string[] = [
  'DELETE FROM stems',
  'INSERT INTO stems SELECT term, doc FROM passage_stems',
  `INSERT OR REPLACE INTO meta SELECT 'passages', count(*) FROM passages`,
  `INSERT OR REPLACE INTO meta SELECT 'mean_length', coalesce(round(avg(length(text))), 1) FROM passages`,
]
