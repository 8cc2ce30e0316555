/** Charts on any page. */
export const CHART_TEXT = {
  other: 'Other',
  openOther: 'Show what "Other" contains',
  before: 'Previous',
  beforeLine: 'The dashed line is the total of the previous period.',
  total: 'Total',
  soFar: 'so far',
  legend: 'Legend',
  asTable: 'Show as table',
  time: 'Time',
  zone: (zone: string) => `Times are in ${zone}.`,
} as const
