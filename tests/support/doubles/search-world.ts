/** A small web that every websearch provider of the contract suite searches, so that one test says what a parameter does. */
export interface WorldPage {
  readonly host: string
  readonly path: string
  readonly title: string
  readonly sections: readonly string[]
  readonly lang: string
  readonly country?: string
  /** ISO timestamp. */
  readonly published?: string
  readonly adult: 0 | 1 | 2
  readonly place?: {
    readonly latitude: number
    readonly longitude: number
    readonly city: string
    readonly state: string
    readonly country: string
  }
}

export interface WorldImage {
  readonly page: string
  readonly title: string
  readonly file: string
  readonly lang: string
  readonly country?: string
  readonly adult: 0 | 2
}

/** Now, in this world. */
export const WORLD_NOW = Date.parse('2026-03-20T12:00:00Z')

const BERN = { latitude: 46.948, longitude: 7.447, city: 'Bern', state: 'BE', country: 'CH' }
const ZURICH = { latitude: 47.377, longitude: 8.541, city: 'Zurich', state: 'ZH', country: 'CH' }
const ILLINOIS = { latitude: 39.8, longitude: -89.64, city: 'Springfield', state: 'IL', country: 'US' }
const OHIO = { latitude: 39.92, longitude: -83.81, city: 'Springfield', state: 'OH', country: 'US' }

const long = (subject: string, sections: number) =>
  Array.from({ length: sections }, (_, at) =>
    `Section ${at} tells of ${subject} in some detail, with what was measured and by whom it was found. `.repeat(9),
  )

function page(address: string, title: string, sections: readonly string[], more: Partial<WorldPage> = {}): WorldPage {
  const [host = '', ...steps] = address.split('/')
  return { host, path: `/${steps.join('/')}`, title, sections, lang: 'en', adult: 0, ...more }
}
const said = (subject: string) => [`Everything that there is to say of ${subject} is said on this page. `.repeat(3)]

export const WORLD_PAGES: readonly WorldPage[] = [
  ...Array.from({ length: 8 }, (_, at) => page(`quartz${at}.test/guide`, `Quartz guide ${at}`, long('quartz', 12))),
  page('topaz-en.test/a', 'Topaz', said('topaz'), { lang: 'en' }),
  page('topaz-de.test/a', 'Topaz', said('topaz'), { lang: 'de' }),
  page('garnet-us.test/a', 'Garnet', said('garnet'), { country: 'US' }),
  page('garnet-fr.test/a', 'Garnet', said('garnet'), { country: 'FR' }),
  page('opal-clean.test/a', 'Opal', said('opal')),
  page('opal-mature.test/a', 'Opal', said('opal'), { adult: 1 }),
  page('opal-adult.test/a', 'Opal', said('opal'), { adult: 2 }),
  page('jade-day.test/a', 'Jade', said('jade'), { published: '2026-03-20T06:00:00.000Z' }),
  page('jade-week.test/a', 'Jade', said('jade'), { published: '2026-03-16T06:00:00.000Z' }),
  page('jade-month.test/a', 'Jade', said('jade'), { published: '2026-02-25T06:00:00.000Z' }),
  page('jade-year.test/a', 'Jade', said('jade'), { published: '2025-07-01T06:00:00.000Z' }),
  page('jade-old.test/a', 'Jade', said('jade'), { published: '2020-07-01T06:00:00.000Z' }),
  page('basalt-strong.test/a', 'Basalt columns', said('basalt columns on northern coasts')),
  page('basalt-weak.test/a', 'Rocks', [
    'Many rocks are known, and basalt is one of them, as everybody can see. '.repeat(3),
  ]),
  page('bakery-bern.test/a', 'Bakery at the Aare', said('the bakery'), { place: BERN }),
  page('bakery-zurich.test/a', 'Bakery at the lake', said('the bakery'), { place: ZURICH }),
  page('diner-il.test/a', 'Diner on Main Street', said('the diner'), { place: ILLINOIS }),
  page('diner-oh.test/a', 'Diner on Oak Street', said('the diner'), { place: OHIO }),
]

export const WORLD_IMAGES: readonly WorldImage[] = [
  ...Array.from({ length: 12 }, (_, at): WorldImage => {
    return {
      page: `https://photos.test/quartz/${at}`,
      title: `Quartz photo ${at}`,
      file: `https://cdn.test/q${at}.jpg`,
      lang: 'en',
      adult: 0,
    }
  }),
  { page: 'https://photos.test/adult', title: 'Opal photo', file: 'https://cdn.test/adult.jpg', lang: 'en', adult: 2 },
  { page: 'https://photos.test/clean', title: 'Opal photo', file: 'https://cdn.test/clean.jpg', lang: 'en', adult: 0 },
  { page: 'https://photos.test/en', title: 'Topaz photo', file: 'https://cdn.test/en.jpg', lang: 'en', adult: 0 },
  { page: 'https://photos.test/de', title: 'Topaz photo', file: 'https://cdn.test/de.jpg', lang: 'de', adult: 0 },
  {
    page: 'https://photos.test/us',
    title: 'Garnet photo',
    file: 'https://cdn.test/us.jpg',
    lang: 'en',
    country: 'US',
    adult: 0,
  },
  {
    page: 'https://photos.test/fr',
    title: 'Garnet photo',
    file: 'https://cdn.test/fr.jpg',
    lang: 'en',
    country: 'FR',
    adult: 0,
  },
]

/** The corrections of engines. */
const CORRECTIONS: Readonly<Record<string, string>> = { quarzt: 'quartz' }

export function correctionOf(q: string): string | null {
  const corrected = q.replaceAll(/\p{L}+/gu, (word) => CORRECTIONS[word.toLowerCase()] ?? word)
  return corrected === q ? null : corrected
}

interface Wanted {
  readonly q: string
  readonly lang: string
  readonly country: string
  readonly maxAdult: number
}

/** An engine of a double: what has a word of the question, in the language and for the country first. */
export function engineFinds<
  T extends { title: string; lang: string; country?: string; adult: number; sections?: readonly string[] },
>(all: readonly T[], { q, lang, country, maxAdult }: Wanted): T[] {
  const words = q.toLowerCase().match(/\p{L}{3,}/gu) ?? []
  return all
    .map((one) => {
      const text = [one.title, ...(one.sections ?? [])].join(' ').toLowerCase()
      const found = words.filter((word) => text.includes(word)).length
      const fits = (one.lang === lang.slice(0, 2) ? 2 : 0) + (one.country === country ? 1 : 0)
      return { one, found, fits }
    })
    .filter(({ one, found }) => found > 0 && one.adult <= maxAdult)
    .sort((a, b) => b.found - a.found || b.fits - a.fits)
    .map(({ one }) => one)
}
