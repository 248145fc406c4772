import type { ServerResponse } from 'node:http';

/** Answers with JSON and the headers of Express's own way, which first looks up settings, types and whether the client has it already: for the answer that most requests get. */
export const answerJson = (response: ServerResponse, status: number, body: unknown): void => {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': Buffer.byteLength(text) }).end(text);
};
