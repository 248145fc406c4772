/** The one field that a mail program posts (RFC 8058, 3.1). */
export const ONE_CLICK = { name: 'List-Unsubscribe', value: 'One-Click' } as const;

/** One field needs no more; and whoever sends more must not have it searched at length. */
const LONGEST = 4_096;
const FORM_FIELD = /(?:^|&)List-Unsubscribe=One-Click(?:&|\s*$)/;
/** A part of multipart/form-data: its name, whatever else its head has, an empty line, the value. */
const PART = /\bname="?List-Unsubscribe"?[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\nOne-Click\r?\n--/i;

/** Whether a posted body says *one click*, urlencoded or as multipart/form-data. Its stated type is not asked: some mail programs state none. */
export const isOneClick = (body: string): boolean => body.length <= LONGEST && (FORM_FIELD.test(body) || PART.test(body));
