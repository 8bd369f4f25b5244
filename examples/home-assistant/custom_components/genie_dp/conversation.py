"""The agent in Home Assistant: reads the registries, handles intents, and answers."""

from collections.abc import Iterator
from typing import Literal

from homeassistant.components import conversation
from homeassistant.components.homeassistant.exposed_entities import async_should_expose
from homeassistant.config_entries import ConfigEntry
from homeassistant.const import MATCH_ALL
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry, device_registry, entity_registry, floor_registry
from homeassistant.helpers import intent as intents
from homeassistant.helpers.entity_platform import AddEntitiesCallback

from .agent import NOTHING, Agent, Decision, Named, speech_of
from .const import DOMAIN


async def async_setup_entry(
    hass: HomeAssistant, entry: ConfigEntry, async_add_entities: AddEntitiesCallback
) -> None:
    """Add the agent of an entry."""
    async_add_entities([GenieConversationEntity(entry)])


class GenieConversationEntity(conversation.ConversationEntity):
    """Answers sentences by intents."""

    _attr_has_entity_name = True
    _attr_supported_features = conversation.ConversationEntityFeature.CONTROL

    def __init__(self, entry: ConfigEntry) -> None:
        self._agent: Agent = entry.runtime_data
        self._attr_name = entry.title
        self._attr_unique_id = entry.entry_id

    @property
    def supported_languages(self) -> list[str] | Literal["*"]:
        """Return that all are taken: a parser knows that of its rows alone, and does not say it."""
        return MATCH_ALL

    async def _async_handle_message(
        self, user_input: conversation.ConversationInput, chat_log: conversation.ChatLog
    ) -> conversation.ConversationResult:
        things = [*_things(self.hass)]
        place = _place(self.hass, user_input)

        def decide() -> Decision:
            return self._agent.decide(
                user_input.text,
                conversation=chat_log.conversation_id,
                things=things,
                place=place,
            )

        decision = await self.hass.async_add_executor_job(decide)
        response = await self._respond(decision, user_input)
        speech = response.speech.get("plain", {}).get("speech")
        chat_log.async_add_assistant_content_without_tools(
            conversation.AssistantContent(agent_id=user_input.agent_id, content=speech)
        )
        return conversation.ConversationResult(
            response=response,
            conversation_id=chat_log.conversation_id,
            continue_conversation=decision.asks,
        )

    async def _respond(
        self, decision: Decision, user_input: conversation.ConversationInput
    ) -> intents.IntentResponse:
        """Return what the intents answer, the first of them with the texts of all."""
        responses = []
        try:
            for intent in decision.intents:
                responses.append(await self._handle(intent, user_input))
        except intents.MatchFailedError:
            code = intents.IntentResponseErrorCode.NO_VALID_TARGETS
            return _error(user_input, code, NOTHING)
        except intents.IntentError as error:
            code = intents.IntentResponseErrorCode.FAILED_TO_HANDLE
            return _error(user_input, code, str(error) or "This did not work.")
        if not responses and decision.asks:
            response = intents.IntentResponse(language=user_input.language)
            response.async_set_speech(decision.message)
            return response
        if not responses:
            code = intents.IntentResponseErrorCode.NO_INTENT_MATCH
            return _error(user_input, code, decision.message)
        texts = [_speech(response, user_input.language) for response in responses]
        responses[0].async_set_speech("\n".join(dict.fromkeys(texts)))
        return responses[0]

    async def _handle(
        self, intent: dict, user_input: conversation.ConversationInput
    ) -> intents.IntentResponse:
        return await intents.async_handle(
            self.hass,
            DOMAIN,
            intent["name"],
            intent["slots"],
            text_input=user_input.text,
            context=user_input.context,
            language=user_input.language,
            # So that only what is exposed can be reached.
            assistant=conversation.DOMAIN,
            device_id=user_input.device_id,
            conversation_agent_id=user_input.agent_id,
        )


def _error(
    user_input: conversation.ConversationInput, code: intents.IntentResponseErrorCode, text: str
) -> intents.IntentResponse:
    response = intents.IntentResponse(language=user_input.language)
    response.async_set_error(code, text)
    return response


def _speech(response: intents.IntentResponse, language: str) -> str:
    """Return what a handler says, or what it found where it says nothing."""
    if said := response.speech.get("plain", {}).get("speech"):
        return said
    is_query = response.response_type == intents.IntentResponseType.QUERY_ANSWER
    states = [(state.name, state.state) for state in response.matched_states]
    return speech_of(states, language, is_query=is_query)


def _things(hass: HomeAssistant) -> Iterator[Named]:
    """Yield the areas, the floors and the exposed entities with their names."""
    for area in area_registry.async_get(hass).async_list_areas():
        yield Named("area", (area.name, *area.aliases))
    for floor in floor_registry.async_get(hass).async_list_floors():
        yield Named("floor", (floor.name, *floor.aliases))
    registry = entity_registry.async_get(hass)
    for state in hass.states.async_all():
        if async_should_expose(hass, conversation.DOMAIN, state.entity_id):
            entry = registry.async_get(state.entity_id)
            # A list of aliases may hold a mark in the place of the name.
            aliases = (x for x in entry.aliases if isinstance(x, str)) if entry else ()
            yield Named(state.domain, (state.name, *aliases))


def _place(hass: HomeAssistant, user_input: conversation.ConversationInput) -> dict[str, str]:
    """Return the area and the floor of the speaker, by the device that heard them."""
    area_id = None
    satellite_id = getattr(user_input, "satellite_id", None)
    device_id = user_input.device_id
    if satellite_id and (entry := entity_registry.async_get(hass).async_get(satellite_id)):
        area_id, device_id = entry.area_id, entry.device_id or device_id
    if not area_id and device_id:
        device = device_registry.async_get(hass).async_get(device_id)
        area_id = device.area_id if device else None
    area = area_registry.async_get(hass).async_get_area(area_id) if area_id else None
    if area is None:
        return {}
    place = {"area": area.name}
    if area.floor_id and (floor := floor_registry.async_get(hass).async_get_floor(area.floor_id)):
        place["floor"] = floor.name
    return place
