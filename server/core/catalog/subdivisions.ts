/**
 * The forms of the subdivision codes of each country of ISO 3166-1 (A: a letter, 0: a digit), from ISO 3166-2 as of the package
 * iso-3166 4.4.0. Countries without subdivisions of their own are under the empty form.
 */
const COUNTRIES_OF_FORMS: Readonly<Record<string, string>> = {
  AA: 'AE AM BI BJ BN BQ BR BS BW BY CA CD CH CI CL CM CN DE DJ ER ET GE GH GL GY HN HT HU ID IN IQ JO KW LA LB LR LY MC MD MU NA NG NI OM PK QA SB SD SH SK SN SO SR SS SV SY SZ TD TJ TL US UY UZ WF WS YE ZW',
  '': 'AI AQ AS AW AX BL BM BV CC CK CW CX EH FK FO GF GG GI GP GS GU HK HM IM IO JE KY MF MO MP MQ MS NC NF NU PF PM PN PR RE SJ SX TC TF TK VA VG VI YT',
  '00': 'AD AG AL BB BG BH CU CY DM DO DZ FI GD GT HR IR JM JP KE KP KR KZ LC LI ME MM MR MT MY NO NR PL PT RW SA SC SG SM TN TO TR TZ UA UM VC ZM',
  AAA: 'AF AO BA BE FM GB MX NZ PE PG PS TT TV TW VU',
  'A AA': 'CR CV EC ES GN GQ GW IE IL KG LU MW RO SE SL',
  A: 'AR BO GM KI KM LS MG TG TM VE',
  'AA AAA': 'AU AZ BZ CF CO RU ZA',
  '00 A': 'BD FJ GR KN ST TH',
  '00 AA': 'BT IT LT RS VN',
  '00 AAA': 'BF MA MV PH',
  '0': 'AT GA NE',
  '0 00 AAA': 'CG ML PY',
  '000': 'MK PW SI',
  '00 000': 'DK EE',
  '0 00': 'KH LK',
  'A AAA': 'MH MZ',
  '00 000 00A': 'CZ',
  'A AA AAA': 'EG',
  '00 000 00A 0A 0AA AA AAA': 'FR',
  '0 AAA': 'IS',
  '000 AAA': 'LV',
  '0 000': 'MN',
  'AA AA0': 'NL',
  A0: 'NP',
  '0 00 AA': 'PA',
  '000 A': 'UG',
}

const FORMS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(COUNTRIES_OF_FORMS).flatMap(([forms, countries]) =>
    countries.split(' ').map((country) => [country, new Set(forms.split(' '))] as const),
  ),
)

/** Whether this is the alpha-2 code of a country, in either letter case (ISO 3166-1). */
export function isCountry(code: string): boolean {
  return FORMS.has(code.toUpperCase())
}

/** Whether this has the form of a subdivision code of the country, without its prefix (ISO 3166-2). */
export function isSubdivisionOf(country: string, code: string): boolean {
  const form = code.toUpperCase().replace(/[A-Z]/g, 'A').replace(/[0-9]/g, '0')
  return FORMS.get(country.toUpperCase())?.has(form) ?? false
}
