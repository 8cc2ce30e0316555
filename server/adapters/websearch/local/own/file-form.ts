type Form = 'html' | 'markdown' | 'text' | 'pdf' | 'image'

const FORMS: readonly (readonly [Form, RegExp, RegExp])[] = [
  ['html', /\.x?html?$/i, /^(?:text\/html|application\/xhtml\+xml)$/],
  ['markdown', /\.(?:md|mdx|markdown)$/i, /^text\/(?:x-)?markdown$/],
  ['text', /\.(?:txt|text)$/i, /^text\/plain$/],
  ['pdf', /\.pdf$/i, /^application\/pdf$/],
  ['image', /\.(?:png|jpe?g|gif|webp|avif|svg|bmp|tiff?|ico)$/i, /^image\//],
]

/** The format of a file by its content type, or else by its name; null if it is not indexed. */
export function fileForm(name: string, contentType = ''): Form | null {
  const path = name.split(/[?#]/)[0] ?? name
  return (
    FORMS.find(([, ending, type]) => (contentType === '' ? ending.test(path) : type.test(contentType)))?.[0] ?? null
  )
}
