/** The sets of spec 4.4 and 4.5, copied from the specification and not from the catalog. */
export const COUNTRIES =
  'AR AU AT BE BR CA CL DK FI FR DE GR HK IN ID IT JP KR MY MX NL NZ NO CN PL PT PH RU SA ZA ES SE CH TW TR GB US ALL'.split(
    ' ',
  )
export const LANGUAGES =
  'ar eu bn bg ca zh-hans zh-hant hr cs da nl en en-gb et fi fr gl de el gu he hi hu is it ja jp kn ko lv lt ms ml mr nb pl pt-br pt-pt pa ro ru sr sk sl es sv ta te th tr uk vi'.split(
    ' ',
  )

export function words(count: number): string {
  return Array<string>(count).fill('ab').join(' ')
}
