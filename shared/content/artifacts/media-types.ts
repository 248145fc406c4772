/** What may be stored, and the ending that its file name gets: documents, nothing that a browser or a mail program would run. */
const ENDINGS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'text/plain': 'txt',
  'application/json': 'json',
  'application/zip': 'zip',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.oasis.opendocument.spreadsheet': 'ods',
};

export const MEDIA_TYPES: readonly string[] = Object.keys(ENDINGS);

/** The allowed type in a Content-Type header, without its parameters; null where it is another. */
export const mediaTypeOf = (header: string | undefined): string | null => {
  const type = (header ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  return Object.hasOwn(ENDINGS, type) ? type : null;
};

/** The name under which a reader saves it. Never made of what a caller wrote. */
export const fileNameOf = (type: string): string => `report.${ENDINGS[type] ?? 'bin'}`;
