import { listOf, named, oneOf, opaque, orNull, record, text, whole, yesOrNo } from '../openapi/json-schema'

const query = record(
  'The query.',
  {
    original: text('The query as sent.'),
    altered: orNull(text('The corrected query that was searched, if the spelling was corrected.')),
    spellcheck_off: yesOrNo('Whether spellchecking was off.'),
    show_strict_warning: yesOrNo('Whether relevant adult results were hidden.'),
  },
  ['altered', 'spellcheck_off', 'show_strict_warning'],
)

const side = (what: string) => whole(`${what} in pixels.`, { minimum: 0 })

const imageResult = record(
  'One image.',
  {
    type: oneOf(['image_result'], 'Always image_result.'),
    title: text('Title of the image.'),
    url: text('The page that shows the image.'),
    source: text('Domain of that page.'),
    page_fetched: text('When the page was last read, RFC 3339.'),
    thumbnail: record('A preview.', { src: text('URL.'), width: side('Width'), height: side('Height') }, [
      'width',
      'height',
    ]),
    properties: record(
      'The image itself.',
      {
        url: text('URL of the image file.'),
        placeholder: text('URL of a tiny version.'),
        width: side('Width'),
        height: side('Height'),
      },
      ['placeholder', 'width', 'height'],
    ),
    meta_url: record(
      'The URL of the page in parts.',
      {
        scheme: text('Scheme.'),
        netloc: text('Host and port.'),
        hostname: text('Host in lower case.'),
        favicon: text("URL of the site's icon."),
        path: text('The path, for display.'),
      },
      ['scheme', 'netloc', 'hostname', 'favicon', 'path'],
    ),
    confidence: oneOf(['low', 'medium', 'high'], 'How well it matches the query.'),
  },
  ['title', 'url', 'source', 'page_fetched', 'thumbnail', 'properties', 'meta_url', 'confidence'],
)

const place = (description: string) =>
  record(description, {
    name: orNull(text('Name.')),
    url: orNull(text('URL.')),
    title: orNull(text('Title.')),
    snippets: orNull(listOf(text('A passage.'), 'Passages.')),
  })

const source = record(
  'A page that passages come from.',
  {
    title: text('Title of the page.'),
    hostname: text('Host.'),
    age: orNull(
      listOf(
        text('A date.'),
        'When it was published: long date, YYYY-MM-DD, relative, RFC 3339; empty when unknown. Version 2026-02-06 returns the first three only, and null when unknown.',
      ),
    ),
    site_name: text('Name of the site. Only with `enable_source_metadata`.'),
    favicon: text('URL of its icon. Only with `enable_source_metadata`.'),
    thumbnail: record(
      'A picture of the page. Only with `enable_source_metadata`.',
      { src: text('URL.'), original: text('URL of the original.') },
      ['original'],
    ),
    description: text('What the page is about. Only with `enable_source_metadata`.'),
    fetched_content_timestamp: whole('When it was read, UNIX seconds. Only with `enable_source_metadata`.'),
  },
  ['site_name', 'favicon', 'thumbnail', 'description', 'fetched_content_timestamp'],
)

/** The result of an image search. */
export const ImageSearchResult = named(
  'ImageSearchResult',
  record('Images found.', {
    type: oneOf(['images'], 'Always images.'),
    query,
    results: listOf(imageResult, 'The images, best first. May be empty.'),
    extra: record('About the results.', {
      might_be_offensive: yesOrNo('Whether some results may be offensive.'),
    }),
  }),
)

/** The result of LLM context. */
export const LlmContextResult = named(
  'LlmContextResult',
  record('Passages to ground a model in.', {
    query,
    grounding: record('The passages.', {
      generic: listOf(
        record('One page.', {
          url: text('URL; also the key of its entry in `sources`.'),
          title: text('Title.'),
          snippets: listOf(text('A passage: prose, or a table or code as JSON text.'), 'Its passages.'),
        }),
        'Pages, best first. Empty when nothing is relevant.',
      ),
      poi: orNull(place('A place; only with local recall.')),
      map: listOf(place('A place.'), 'Places; only with local recall.'),
    }),
    sources: opaque({
      type: 'object',
      description: 'Every page used, by its URL.',
      additionalProperties: source,
    }),
  }),
)
